"""A platform team's road: the wheel in an empty environment, and the example's own app on it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

# Not from tests.support.synth: it imports the CDK, and this process needs none.
ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("decision_adapter", "decision_client", "decision_endpoints", "decision_provenance")
EXAMPLE = ROOT / "examples" / "compose_two_endpoints"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, made as a release is, by the build backend alone."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """The files in the wheel."""
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment, with the wheel and what its extra `cdk` asks for, and nothing else.

    The wheel is installed; what it needs is linked from the checkout's own environment. So no network and no cache is
    needed, and a requirement that is not declared is missing here too.
    """
    environment = tmp_path_factory.mktemp("platform") / "venv"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python3"
    (site_packages,) = (environment / "lib").glob("python*/site-packages")
    command = ["pip", "install", "--offline", "--no-deps", "--quiet", "--cache-dir", str(environment / "cache")]
    subprocess.run(
        [Path(sys.executable).with_name("uv"), *command, "--python", python, wheel], check=True, capture_output=True
    )
    (ours,) = metadata.distributions(path=[str(site_packages)])
    for distribution in _needed(ours, "cdk"):
        for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            link = site_packages / top
            if not link.exists():
                link.symlink_to(str(distribution.locate_file(top)))
    return python


@pytest.fixture(scope="module")
def assembly(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the example synthesizes there, run as the CDK CLI runs it, with no more of this machine than a path."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(EXAMPLE, project, dirs_exist_ok=True)
    settings = json.loads((project / "cdk.json").read_text())
    output = project / "cdk.out"
    synth = subprocess.run(
        settings["app"].split(),
        cwd=project,
        env={
            "PATH": os.pathsep.join([str(python.parent), os.environ["PATH"]]),
            "HOME": str(tmp_path_factory.mktemp("home")),
            "CDK_CONTEXT_JSON": json.dumps(settings["context"]),
            "CDK_OUTDIR": str(output),
            "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(ROOT / ".cache" / "jsii"),
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
        },
        check=False,
        capture_output=True,
        text=True,
    )
    assert (synth.returncode, synth.stdout, synth.stderr) == (0, "", "")
    return output


# One test of several promises: each worker that gets a test of its own would synthesize anew.
def test_the_example_synthesizes_clean_and_as_its_readme_says(assembly: Path) -> None:
    assert _warnings(assembly) == []
    assert _violations(assembly) == []

    configs = _resources(assembly, "Endpoints", "AWS::SageMaker::EndpointConfig").values()
    variants = [config["ProductionVariants"][0] for config in configs]
    fleets = {variant.get("InstanceType") or variant["InstancePools"][0]["InstanceType"] for variant in variants}
    assert fleets == {"ml.c6i.4xlarge", "ml.g6e.xlarge"}, "a CPU and a GPU endpoint in one stack"

    exports = {
        output["Export"]["Name"]: output["Value"].get("Ref")
        for output in _template(assembly, "Foundation")["Outputs"].values()
    }
    models = _resources(assembly, "Endpoints", "AWS::SageMaker::Model").values()
    subnets = {exports[subnet["Fn::ImportValue"]] for model in models for subnet in model["VpcConfig"]["Subnets"]}
    assert subnets == set(_resources(assembly, "Foundation", "AWS::EC2::Subnet")), "in its own VPC"

    (key,) = _resources(assembly, "Foundation", "AWS::KMS::Key")
    buckets = _resources(assembly, "Foundation", "AWS::S3::Bucket")
    for own in ("Bucket", "StoreBucket"):
        (bucket,) = [bucket for name, bucket in buckets.items() if name[:-8] == own]
        (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        assert rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"]["Fn::GetAtt"][0] == key, "under its own key"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_in_the_wheel_is_typed(package: str, names: set[str]) -> None:
    assert f"{package}/py.typed" in names


def test_the_wheel_holds_the_packages_and_their_assets_and_nothing_else(names: set[str]) -> None:
    tops = {name.partition("/")[0] for name in names}

    assert tops - set(PACKAGES) == {top for top in tops if top.endswith(".dist-info")}
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.parametrize(
    ("installed", "folder"),
    [
        ("decision_endpoints/_assets/lambda", "lambda"),
        ("decision_endpoints/_assets/adapter_image", "adapter_image"),
        ("decision_client/packaging", "client/decision_client/packaging"),
    ],
)
def test_the_wheel_carries_every_file_that_a_deploy_takes_along(installed: str, folder: str, names: set[str]) -> None:
    # Its Python package is one of the four.
    skipped = {"__pycache__", "decision_adapter"}
    wanted = {
        f"{installed}/{file.relative_to(ROOT / folder).as_posix()}"
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and not skipped & set(file.parts)
    }

    assert wanted <= names


def _needed(distribution: metadata.Distribution, *extras: str) -> Iterable[metadata.Distribution]:
    """Every distribution that this one needs, and those need."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [(distribution, extras)]
    while waiting:
        current, wanted_extras = waiting.pop()
        for text in current.requires or ():
            requirement = Requirement(text)
            applies = requirement.marker is None or any(
                requirement.marker.evaluate({"extra": extra}) for extra in ("", *wanted_extras)
            )
            if applies and requirement.name not in found:
                found[requirement.name] = metadata.distribution(requirement.name)
                waiting.append((found[requirement.name], tuple(requirement.extras)))
    return found.values()


def _warnings(assembly: Path) -> list[tuple[str, str, object]]:
    """What constructs warn of, with their paths, and errors."""
    return [
        (path, note["type"], note.get("data"))
        for file in assembly.rglob("*.metadata.json")
        for path, notes in json.loads(file.read_text()).items()
        for note in notes
        if note["type"] in ("aws:cdk:warning", "aws:cdk:error")
    ]


def _violations(assembly: Path) -> list[object]:
    """What the CDK's own template validator found; a synth that it did not look at has no report."""
    report = json.loads((assembly / "validation-report.json").read_text())
    return [found for plugin in report["pluginReports"] for found in plugin["violations"]]


def _template(assembly: Path, stack: str) -> dict[str, Any]:
    """The template of a stack of the example."""
    (file,) = assembly.glob(f"assembly-Routing/Routing{stack}*.template.json")
    return dict(json.loads(file.read_text()))


def _resources(assembly: Path, stack: str, kind: str) -> dict[str, Any]:
    """The properties of the resources of one type in a stack of the example, by logical id."""
    resources = _template(assembly, stack)["Resources"]
    return {name: resource["Properties"] for name, resource in resources.items() if resource["Type"] == kind}
