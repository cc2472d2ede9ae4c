"""A file that does not fit is refused in sentences that say what to change; all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from stacks.environment import EnvironmentRefused, load_environments
from tests.support.synth import IMAGE, ROOT

Change = Callable[[dict[str, Any]], object]


def _local() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "environments" / "local.yaml").read_text())
    return document


def _refusal(folder: Path) -> list[str]:
    with pytest.raises(EnvironmentRefused) as refused:
        load_environments(folder, root=ROOT)
    return str(refused.value).splitlines()


def _refusal_of(folder: Path, change: Change) -> list[str]:
    document = _local()
    change(document)
    path = folder / "test.yaml"
    path.write_text(yaml.safe_dump(document))
    return [line.removeprefix(f"{path}: ") for line in _refusal(folder)]


def test_the_environments_of_the_checkout_fit() -> None:
    names = [environment.name for environment in load_environments(ROOT / "environments", root=ROOT)]

    assert names == ["chat-dev", "dev", "local", "prod", "staging"]


def test_a_typo_names_the_file_the_key_and_the_nearest_right_one(tmp_path: Path) -> None:
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(_local() | {"regoin": "us-east-1"}))

    assert _refusal(tmp_path) == [f"{tmp_path}/test.yaml: regoin is no setting: did you mean region?"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda d: d["model"]["source"].update(locl=d["model"]["source"]["local"]),
            "model.source.locl is no setting: did you mean local?",
        ),
        (
            lambda d: d["model"]["source"]["local"]["facts"].update(contxt_length=5),
            "model.source.local.facts: contxt_length is no fact: did you mean context_length?",
        ),
        (lambda d: d.pop("region"), "region is missing: add it"),
        (
            lambda d: d["endpoint"]["compute"].pop("cpu"),
            "endpoint.compute: give exactly one of cpu, graviton and gpu; there is none of them",
        ),
        (
            lambda d: d["endpoint"]["compute"].update(gpu=["ml.g5.xlarge"]),
            "endpoint.compute: give exactly one of cpu, graviton and gpu; there is cpu and gpu",
        ),
        (
            lambda d: d["endpoint"].update(compute={"gpu": ["ml.g5.xlarge"], "threads": 2}),
            "endpoint.compute: threads cannot stand beside gpu: a gpu pool takes the cores of its smallest type",
        ),
        (
            lambda d: d["endpoint"].update(compute={"gpu": "ml.g5.xlarge"}),
            "endpoint.compute.gpu is 'ml.g5.xlarge': give a list, each item after a `- ` on a line of its own",
        ),
        (
            lambda d: d["endpoint"].update(compute={"gpu": ["ml.g5.xlarge", 5]}),
            "endpoint.compute.gpu.1 is 5: give text",
        ),
        (
            lambda d: d["endpoint"].update(compute={"gpu": ["ml.g5.xlarge"] * 2}),
            "ml.g5.xlarge is there 2 times: name each type once",
        ),
        (lambda d: d["endpoint"].update(compute={"graviton": "ml.c8g.xlrage"}), "did you mean ml.c8g.xlarge?"),
        (
            lambda d: d.update(account=123456789012),
            "account is 123456789012: give the 12 digits of an AWS account, in quotes",
        ),
        (lambda d: d.update(account="1234"), "account is '1234': give the 12 digits of an AWS account, in quotes"),
        (lambda d: d.update(region="us-east"), "region is 'us-east': give an AWS region, such as us-east-1"),
        (lambda d: d.update(cloud="locla"), "cloud is 'locla': did you mean local?"),
        (
            lambda d: d["endpoint"].update(context_tokens="4096"),
            "endpoint.context_tokens is '4096': give a whole number, without quotes",
        ),
        (
            lambda d: d["endpoint"].update(instances=True),
            "endpoint.instances is True: give a whole number, without quotes",
        ),
        (lambda d: d.update(model="smollm2"), "model is 'smollm2': give settings as `key: value` below it"),
        (
            lambda d: d["model"]["source"].update(local=None),
            "model.source: give exactly one of local, hugging_face and s3; there is none of them",
        ),
        (lambda d: d["endpoint"]["compute"].update(cpu="ml.c6i.xlrage"), "did you mean ml.c6i.xlarge?"),
        (lambda d: d["endpoint"]["compute"].update(threads=9), "ml.c6i.xlarge has 4 vCPUs: give 1 to 4"),
        (
            lambda d: d["endpoint"]["compute"].update(gpu_layers=4),
            "endpoint.compute: gpu_layers cannot stand beside cpu: they are for gpu",
        ),
        (lambda d: d["endpoint"].update(image={"ecr": "adapter:latest"}), "adapter:latest is not in private ECR"),
        (
            lambda d: d["endpoint"].update(image={"build": {"base": "latest"}}),
            "endpoint.image: DlcImage: digest is 'latest': give sha256:",
        ),
        (
            lambda d: d["endpoint"]["image"].update(ecr=IMAGE),
            "endpoint.image: give exactly one of build, dlc, ecr and checkout; there is ecr and checkout",
        ),
        (
            lambda d: d["endpoint"].update(answers="chat"),
            "endpoint: context_tokens cannot stand beside `answers: chat`: write llama_server",
        ),
        (
            lambda d: d["endpoint"].update(image={"dlc": {"digest": f"sha256:{'1f' * 32}"}}),
            "endpoint: image.dlc answers chat and no decisions",
        ),
        (
            lambda d: d["endpoint"].update(scaling={"min": 3, "max": 2}),
            "endpoint.scaling: Scaling: max is 2 and min is 3",
        ),
        (
            lambda d: d["endpoint"].update(rollout={"canary": {}, "linear": {}}),
            "endpoint.rollout: give exactly one of canary, linear, rolling and all_at_once; there is canary and linear",
        ),
        (
            lambda d: d["endpoint"].update(rollout={"canary": {"percnt": 5}}),
            "endpoint.rollout.canary.percnt is no setting: did you mean percent?",
        ),
        (
            lambda d: d.update(alarms={"thresholds": {"latency_p99": 5}}),
            "alarms: latency_p99 is no threshold: did you mean latency_p99_seconds?",
        ),
        (lambda d: d.update(alarms={"thresholds": {"busy_percent": 0}}), "busy_percent is 0: give more than 0"),
        (lambda d: d.update(cloud="aws"), "endpoint.image is checkout, which only the local cloud hosts"),
        (lambda d: d["model"]["source"]["local"].update(sha256="b179"), "64 hexadecimal digits"),
        (
            lambda d: d.update(alarms={"thresholds": {"busy_percent": "ten"}}),
            "alarms.thresholds.busy_percent is 'ten': give a number, without quotes",
        ),
        (
            lambda d: d.update(alarms={"emails": ["on-call"]}),
            "alarms: emails: 'on-call' is no e-mail address: write name@example.com",
        ),
        (lambda d: d["endpoint"].update(name="a_b"), "endpoint: name is 'a_b': use letters, digits and inner hyphens"),
        (
            lambda d: d["endpoint"].update(network={"vpc": "", "subnets": ["${Token[X.1]}"]}),
            "endpoint.network: '' is no id: give vpc-<hex digits>; '${Token[X.1]}' is no id: give subnet-<hex digits>",
        ),
        (lambda d: d["endpoint"].update(startup_seconds=-1), "endpoint.startup_seconds is -1: give at least 0"),
        (
            lambda d: d["endpoint"].update(rollout={"canary": {"bake_minutes": -1}}),
            "endpoint.rollout.canary.bake_minutes is -1: give at least 0",
        ),
        (lambda d: d.update({"a\x1b[31m": 1}), "'a\\x1b[31m' is no setting: allowed are cloud"),
    ],
)
def test_one_thing_wrong_is_one_sentence(tmp_path: Path, change: Change, sentence: str) -> None:
    (line,) = _refusal_of(tmp_path, change)

    assert sentence in line


def test_everything_wrong_in_every_file_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "first.yaml").write_text(yaml.safe_dump(_local() | {"regoin": 1, "account": 5}))
    (tmp_path / "second.yaml").write_text("- a list")
    (tmp_path / "third.yml").write_text("")

    lines = _refusal(tmp_path)

    assert [Path(line.partition(":")[0].partition(" ")[0]).name for line in lines] == [
        "first.yaml",
        "first.yaml",
        "second.yaml",
        "third.yml",
    ]


def test_a_key_that_comes_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    text = (ROOT / "environments" / "local.yaml").read_text()
    (tmp_path / "test.yaml").write_text(text + "region: eu-west-1\n")

    (line,) = _refusal(tmp_path)
    assert "the key region is here a second time, first in line 4: keep one" in line


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"cloud: [local", "line 1"),
        (b"cloud: \xff", "not UTF-8"),
        (b"", "holds no settings"),
        (b"1: a", "the key 1 is not text: put it in quotes"),
        (b"a: 1\n---\nb: 2\n", "line 2"),
        (b"a: !!python/object:os.system x", "line 1"),
        (b"{{a: 1}: 2}: 3", "line 1"),
        (b"a: !!bool x", "line 1, column 4: 'x' cannot be read as bool: put it in quotes"),
        (b"a: 2026-13-01", "line 1, column 4: '2026-13-01' cannot be read as timestamp"),
        (b"a: " + b"9" * 5000, "cannot be read as int"),
        (b"[" * 3000, "nests deeper than any settings"),
        (b"{a: " * 3000 + b"1" + b"}" * 3000, "nests deeper than any settings"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_with_its_place(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "test.yaml").write_bytes(content)

    (line,) = _refusal(tmp_path)
    assert line.startswith(f"{tmp_path}/test.yaml")
    assert sentence in line


def test_aliases_that_stand_for_more_than_fits_into_memory_are_not_written_out(tmp_path: Path) -> None:
    lines = ["l0: &l0 [x]", *[f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 13)]]
    (tmp_path / "test.yaml").write_text("\n".join([*lines, "cloud: *l12", "account: *l12", "endpoint: *l12"]))

    assert all(len(line) < 300 for line in _refusal(tmp_path))


@pytest.mark.parametrize("name", ["Test.yaml", "a_b.yaml", "-a.yaml", f"{'a' * 41}.yaml", "test.yml", "test.json"])
def test_a_file_that_cannot_name_an_environment_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(yaml.safe_dump(_local()))

    (line,) = _refusal(tmp_path)
    assert line.startswith(f"{tmp_path}/{name}")


def test_notes_and_hidden_files_may_lie_beside_environments(tmp_path: Path) -> None:
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(_local()))
    (tmp_path / "README.md").write_text("")
    (tmp_path / ".test.yaml.swp").write_text("")

    (environment,) = load_environments(tmp_path, root=ROOT)
    assert environment.endpoint_name == "decisions-test"


def test_a_folder_without_environments_is_refused(tmp_path: Path) -> None:
    assert _refusal(tmp_path) == [f"{tmp_path} holds no environment: add one as <name>.yaml"]
    assert _refusal(tmp_path / "nowhere") == [
        f"{tmp_path}/nowhere is no folder: give the one with the environment files"
    ]


def test_what_is_stateful_is_kept_on_aws_and_not_on_the_local_cloud(tmp_path: Path) -> None:
    aws = _local() | {"cloud": "aws"}
    aws["endpoint"]["image"] = {"ecr": IMAGE}
    (tmp_path / "on-aws.yaml").write_text(yaml.safe_dump(aws))
    (tmp_path / "here.yaml").write_text(yaml.safe_dump(_local()))
    (tmp_path / "asked.yaml").write_text(yaml.safe_dump(aws | {"retain": False}))

    kept = {environment.name: environment.retain for environment in load_environments(tmp_path, root=ROOT)}
    assert kept == {"asked": False, "here": False, "on-aws": True}


@pytest.mark.parametrize(
    ("compute", "instances"),
    [
        ({"cpu": "ml.c6i.xlarge"}, ["ml.c6i.xlarge"]),
        ({"graviton": "ml.c8g.xlarge", "threads": 3}, ["ml.c8g.xlarge"]),
        ({"gpu": ["ml.g6e.xlarge", "ml.g5.2xlarge"]}, ["ml.g6e.xlarge", "ml.g5.2xlarge"]),
    ],
)
def test_an_endpoint_runs_on_the_kind_that_its_file_names(
    tmp_path: Path, compute: dict[str, Any], instances: list[str]
) -> None:
    document = _local()
    document["endpoint"]["compute"] = compute
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(document))

    (environment,) = load_environments(tmp_path, root=ROOT)

    chosen = environment.settings.endpoint.compute.instance()
    assert [member.name for member in chosen.members] == instances
    assert chosen.threads == compute.get("threads", 2)


def test_two_environments_that_would_meet_under_one_endpoint_name_are_refused(tmp_path: Path) -> None:
    for name, changes in {"first": {}, "second": {}, "elsewhere": {"region": "eu-west-1"}}.items():
        document = _local() | changes
        document["endpoint"]["name"] = "decisions"
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(document))

    assert _refusal(tmp_path) == [
        f"{tmp_path}/second.yaml: the endpoint decisions is that of first.yaml too: "
        "give one of them another endpoint.name"
    ]


@pytest.mark.parametrize(("compute", "target"), [("cpu", "cpu"), ("graviton", "graviton"), ("gpu", "cuda")])
def test_the_container_to_build_on_is_the_one_for_the_compute(tmp_path: Path, compute: str, target: str) -> None:
    types = {"cpu": "ml.c6i.xlarge", "graviton": "ml.c8g.xlarge", "gpu": ["ml.g5.xlarge"]}
    document = _local()
    document["endpoint"] |= {
        "image": {"build": {"base": f"sha256:{'1f' * 32}"}},
        "compute": {compute: types[compute]},
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(document))

    (environment,) = load_environments(tmp_path, root=ROOT)

    endpoint = environment.settings.endpoint
    base = endpoint.image.base(endpoint.target)
    assert base is not None
    assert base.target == target
