"""Lines of `cdk deploy --progress events`, as the CLI prints them."""

from __future__ import annotations

import pytest

from local_cloud.demo.stack_events import read_event

COMPLETE = (
    "local-Endpoint |  5/9 | 11:53:05 PM | CREATE_COMPLETE      | AWS::SageMaker::Model       "
    "| Endpoint/Model/Resource (EndpointModel0A1B) "
)
FAILED = (
    "local-Endpoint |  5/9 | 11:53:05 PM | CREATE_FAILED        | Custom::VerifiedGguf        "
    "| Verified/Resource/Default (Verified77) s3://bucket/models/m.gguf has SHA-256 aa, the pin says bb: pin it anew"
)


def test_an_event_says_what_became_of_which_resource() -> None:
    event = read_event(COMPLETE)

    assert event is not None
    assert event.in_short() == "local-Endpoint 5/9 AWS::SageMaker::Model CREATE_COMPLETE"
    assert (event.resource, event.reason) == ("Endpoint/Model/Resource (EndpointModel0A1B)", "")
    assert not event.is_failure


def test_a_failure_carries_its_whole_reason() -> None:
    event = read_event(FAILED)

    assert event is not None
    assert event.is_failure
    assert event.resource == "Verified/Resource/Default (Verified77)"
    assert event.reason == "s3://bucket/models/m.gguf has SHA-256 aa, the pin says bb: pin it anew"


def test_an_event_of_the_stack_itself_has_no_construct_path() -> None:
    event = read_event(
        "CDKToolkit |  0/15 | 11:53:05 PM | CREATE_IN_PROGRESS      | AWS::CloudFormation::Stack | CDKToolkit "
    )

    assert event is not None
    assert (event.stack, event.done, event.total, event.resource) == ("CDKToolkit", 0, 15, "CDKToolkit")


def test_what_was_cancelled_because_of_another_failure_is_no_reason() -> None:
    event = read_event(FAILED.split("s3://")[0] + "Resource creation cancelled")

    assert event is not None
    assert not event.is_failure


@pytest.mark.parametrize("line", ["", "local-Endpoint: deploying... [2/2]", "a | b | c", "✨  Synthesis time: 5.2s"])
def test_other_lines_are_no_events(line: str) -> None:
    assert read_event(line) is None
