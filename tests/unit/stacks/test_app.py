"""The app as the CDK CLI starts it: a process of its own, with nothing of AWS in its environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.synth import ROOT

JSII_CACHE = os.environ.get("JSII_RUNTIME_PACKAGE_CACHE_ROOT", str(ROOT / ".cache" / "jsii"))
CONTEXT = json.loads((ROOT / "cdk.json").read_text())["context"]


# A network namespace of its own has not even a loopback that is up.
WITHOUT_NETWORK = ("unshare", "-Urn")


def _synth(
    out: Path, *, wrapper: Sequence[str] = (), validate: bool = False, **context: str
) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        # With -S, the requirements alone: no editable install helps app.py to find the checkout's own packages.
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "HOME": str(out.parent),
        # Unpacked once instead of at every start.
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": JSII_CACHE,
        "CDK_OUTDIR": str(out),
        "CDK_CONTEXT_JSON": json.dumps(CONTEXT | context),
        # The CDK's own template validator takes three quarters of the time; one test has it on.
        **({} if validate else {"CDK_VALIDATION": "false"}),
    }
    return subprocess.run(
        [*wrapper, sys.executable, "-S", str(ROOT / "app.py")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def _bytes(out: Path) -> dict[str, bytes]:
    return {str(file.relative_to(out)): file.read_bytes() for file in sorted(out.rglob("*")) if file.is_file()}


def _template(out: Path, stack: str) -> dict[str, Any]:
    (path,) = out.glob(f"assembly-*/*{stack}*.template.json")
    document: dict[str, Any] = json.loads(path.read_text())
    return document


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment like `local`, whose model is not here: the templates do not depend on it."""
    folder = tmp_path_factory.mktemp("environments")
    document = yaml.safe_load((ROOT / "environments" / "local.yaml").read_text())
    document["model"]["source"]["local"]["path"] = "nowhere/model.gguf"
    (folder / "local.yaml").write_text(yaml.safe_dump(document))
    return folder


@pytest.fixture(scope="module")
def assembly(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("first") / "cdk.out"
    done = _synth(out, environments=str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    return out


def test_the_same_inputs_give_the_same_bytes(folder: Path, assembly: Path, tmp_path: Path) -> None:
    again = tmp_path / "cdk.out"
    _synth(again, environments=str(folder))

    first, second = _bytes(assembly), _bytes(again)
    assert first.keys() == second.keys()
    different = [name for name in first if first[name] != second[name]]
    # Of the note that the model is missing, the CDK writes down a stack trace, with the temporary folders of that run.
    assert [name for name in different if not name.endswith(".metadata.json")] == []


@pytest.mark.skipif(
    subprocess.run([*WITHOUT_NETWORK, "true"], capture_output=True, check=False).returncode != 0
    if shutil.which("unshare")
    else True,
    reason="needs the right to make a network namespace",
)
def test_every_environment_of_the_checkout_synthesizes_without_account_and_network_and_is_valid(tmp_path: Path) -> None:
    out = tmp_path / "cdk.out"

    done = _synth(out, wrapper=WITHOUT_NETWORK, validate=True)

    assert (done.returncode, done.stderr) == (0, "")
    environments = {path.stem for path in (ROOT / "environments").glob("*.yaml")}
    synthesized = {path.name.removeprefix("assembly-") for path in out.glob("assembly-*")}
    assert synthesized == environments
    for environment in environments:
        assert len(list(out.glob(f"assembly-{environment}/*.template.json"))) == 2


def test_templates_hold_no_path_of_this_machine(assembly: Path) -> None:
    for name, content in _bytes(assembly).items():
        if name.endswith(".template.json"):
            assert str(ROOT).encode() not in content


def test_the_stacks_are_the_environments(assembly: Path) -> None:
    manifest = json.loads(next(assembly.glob("assembly-*/manifest.json")).read_text())
    names = {
        a["properties"]["stackName"] for a in manifest["artifacts"].values() if a["type"] == "aws:cloudformation:stack"
    }

    assert names == {"local-Artifacts", "local-Endpoint"}


def test_the_outputs_say_what_runs(assembly: Path) -> None:
    assert set(_template(assembly, "Endpoint")["Outputs"]) == {
        "DashboardUrl",
        "EndpointName",
        "ImageDigest",
        "InvokeCommand",
        "ModelDigest",
        "ModelS3Uri",
    }


def test_nothing_stateful_keeps_the_local_cloud_from_going(assembly: Path) -> None:
    kept = [
        name
        for stack in ("Artifacts", "Endpoint")
        for name, resource in _template(assembly, stack)["Resources"].items()
        if resource.get("DeletionPolicy", "Delete") != "Delete"
    ]
    assert kept == []


def test_a_bad_environment_ends_in_one_sentence_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "test.yaml").write_text("cloud: local\n")

    done = _synth(tmp_path / "cdk.out", environments=str(tmp_path / "environments"))

    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == f"{tmp_path}/environments/test.yaml: region is missing: add it"
    assert "Traceback" not in done.stderr


def test_a_setting_that_cannot_work_ends_in_one_sentence_and_no_traceback(folder: Path, tmp_path: Path) -> None:
    document = yaml.safe_load((folder / "local.yaml").read_text())
    document["endpoint"] |= {"context_tokens": 9000, "startup_seconds": 10}
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "local.yaml").write_text(yaml.safe_dump(document))

    done = _synth(tmp_path / "cdk.out", environments=str(tmp_path / "environments"))

    assert done.returncode == 1
    file = f"{tmp_path}/environments/local.yaml"
    assert done.stderr.startswith(f"{file}: DecisionEndpoint local/Endpoint/Decisions: context_tokens is 9000 and ")
    assert "startup_timeout is 10 seconds: SageMaker allows 60 to 3600" in done.stderr
    assert len(done.stderr.splitlines()) == 1
