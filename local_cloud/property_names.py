"""A misspelt property fails the deploy, as on AWS, for every resource type and at every depth.

The types that this package adds are also validated by botocore's models, which know values as well as names.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from local_cloud import cloudformation_schema, ministack_seams
from local_cloud.cloudformation_schema import DATABASE, Schema

_CHECKOUT = Path(__file__).resolve().parent.parent

_logger = logging.getLogger(__name__)


def install() -> None:
    """Check properties before a resource is created or updated. The schema is read while the emulator starts."""
    loader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cloudformation-schema")
    loading = loader.submit(_load)
    loader.shutdown(wait=False)

    def check(resource_type: str, properties: Mapping[str, Any]) -> None:
        _check(loading, resource_type, properties)

    ministack_seams.before_provisioning(check)


def _load() -> Schema | None:
    try:
        return cloudformation_schema.load(_CHECKOUT / DATABASE, ministack_seams.resource_types())
    except (OSError, ValueError) as error:
        _logger.warning(
            "Misspelt properties of CloudFormation resources go unnoticed, because the CDK CLI's database cannot be"
            " read (%s): run `npm ci`",
            error,
        )
        return None


def _check(loading: Future[Schema | None], resource_type: str, properties: Mapping[str, Any]) -> None:
    # A custom resource takes what its Lambda understands.
    if resource_type.startswith("Custom::") or resource_type == "AWS::CloudFormation::CustomResource":
        return
    schema = loading.result()
    problems = schema.unknown_properties(resource_type, properties) if schema else []
    if problems:
        raise ValueError(f"Properties validation failed for {resource_type}: {'; '.join(problems)}")
