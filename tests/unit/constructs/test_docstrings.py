"""The examples in the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest
from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam

import decision_endpoints
from decision_provenance.manifest import PackagedFile
from tests.support.synth import FACTS, endpoint, new_stack, source

MODULES = sorted(module.name for module in pkgutil.iter_modules(decision_endpoints.__path__))


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the examples take for granted beside a stack of their own: the parts that the example is not about."""
    folder = tmp_path_factory.mktemp("model")
    prepared = new_stack("Prepared")
    endpoint(prepared, source(folder))
    package = prepared.node.find_child("Package")
    return {name: getattr(decision_endpoints, name) for name in decision_endpoints.__all__} | {
        "Duration": Duration,
        "PackagedFile": PackagedFile,
        "application_role": iam.Role(prepared, "App", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")),
        "bucket": package.store.bucket,  # type: ignore[attr-defined]  # a ModelPackage
        "endpoint": prepared.node.find_child("Endpoint"),
        "log_group": package.log_group,  # type: ignore[attr-defined]
        "packaged_model": prepared.node.find_child("Model"),
        "project": package.project,  # type: ignore[attr-defined]
        "ec2": ec2,
        "repository": ecr.Repository(prepared, "Images"),
        "tiny_facts": FACTS,
        "tiny_source": source(folder),
        "vpc": ec2.Vpc(prepared, "Vpc"),
    }


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str, surroundings: dict[str, object]) -> None:
    module = importlib.import_module(f"decision_endpoints.{name}")

    result = doctest.testmod(
        module,
        extraglobs=surroundings | {"stack": new_stack()},
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
    )

    assert result.failed == 0
