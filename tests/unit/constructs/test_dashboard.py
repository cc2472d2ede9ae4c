"""The page answers an operator's questions in order, with metrics that somebody publishes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk.assertions import Match, Template

from decision_endpoints import (
    AlarmThresholds,
    CpuInstance,
    EndpointAlarms,
    EndpointDashboard,
    GpuPool,
    InvalidArguments,
    Scaling,
)
from decision_endpoints.hosted_endpoint import HostedEndpoint
from tests.support.synth import ACCOUNT, chat_endpoint, endpoint, new_stack, resources, source

TYPES = ["ml.g6e.xlarge", "ml.g5.2xlarge"]

# What SageMaker publishes, by namespace (developer guide, "SageMaker AI metrics in Amazon CloudWatch").
SAGEMAKER = {
    "AWS/SageMaker": {"Invocations", "Invocation4XXErrors", "Invocation5XXErrors", "ModelLatency", "OverheadLatency"},
    "/aws/sagemaker/Endpoints": {
        "CPUUtilization",
        "MemoryUtilization",
        "DiskUtilization",
        "GPUUtilization",
        "GPUMemoryUtilization",
    },
}


def _page(watched: HostedEndpoint, *, prices: dict[str, float] | None = None) -> tuple[Template, EndpointDashboard]:
    stack = Stack.of(watched)
    alarms = EndpointAlarms(stack, "Alarms", endpoint=watched, thresholds=AlarmThresholds())
    dashboard = EndpointDashboard(stack, "Dashboard", endpoint=watched, alarms=alarms, prices=prices)
    return Template.from_stack(stack), dashboard


@pytest.fixture(scope="module")
def pool_page(tmp_path_factory: pytest.TempPathFactory) -> Template:
    model = source(tmp_path_factory.mktemp("model"))
    watched = endpoint(new_stack(), model, compute=GpuPool(TYPES), scaling=Scaling(max=4))
    return _page(watched, prices=dict(zip(TYPES, (2.6, 1.9), strict=True)))[0]


@pytest.fixture(scope="module")
def chat_page(tmp_path_factory: pytest.TempPathFactory) -> tuple[Template, EndpointDashboard]:
    return _page(chat_endpoint(new_stack(), source(tmp_path_factory.mktemp("model"))))


def _widgets(template: Template) -> list[dict[str, Any]]:
    """Of the one dashboard, with a text in the place of each reference."""
    (dashboard,) = resources(template, "AWS::CloudWatch::Dashboard")
    parts = dashboard["Properties"]["DashboardBody"]["Fn::Join"][1]
    widgets: list[dict[str, Any]] = json.loads(
        "".join(part if isinstance(part, str) else next(iter(part)) for part in parts)
    )["widgets"]
    return sorted(widgets, key=lambda widget: (widget["y"], widget["x"]))


def _headings(template: Template) -> list[str]:
    return [w["properties"]["markdown"].removeprefix("## ") for w in _widgets(template) if w["type"] == "text"]


def _metrics(template: Template) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Namespace, name and dimensions of every metric on the page."""
    for widget in _widgets(template):
        for shown in widget["properties"].get("metrics", []):
            texts = [part for part in shown if isinstance(part, str)]
            if texts:  # else an expression
                namespace, name, *dimensions = texts
                yield namespace, name, dict(zip(dimensions[::2], dimensions[1::2], strict=True))


@pytest.mark.parametrize("page", ["pool_page", "chat_page"])
def test_the_alarms_come_first_and_then_the_questions_in_the_order_of_an_operator(
    page: str, request: pytest.FixtureRequest
) -> None:
    made = request.getfixturevalue(page)
    template = made if isinstance(made, Template) else made[0]

    assert _widgets(template)[0]["type"] == "alarm"
    questions = [heading.partition(": ")[2] or heading for heading in _headings(template)[:1]] + [
        heading.partition("?")[0] + "?" for heading in _headings(template)[1:]
    ]
    assert questions == [
        "is it up?",
        "Is it answering?",
        "How long does it take?",
        "Who is refused?",
        "Where does it run?",
        "What does it cost?",
    ]


@pytest.mark.parametrize("page", ["pool_page", "chat_page"])
def test_every_metric_is_one_that_is_published(page: str, request: pytest.FixtureRequest) -> None:
    made = request.getfixturevalue(page)
    template = made if isinstance(made, Template) else made[0]
    own = {
        f["Properties"]["MetricTransformations"][0]["MetricName"]
        for f in resources(template, "AWS::Logs::MetricFilter")
    }
    (deployed,) = resources(template, "AWS::SageMaker::Endpoint")
    (config,) = resources(template, "AWS::SageMaker::EndpointConfig")
    pools = config["Properties"]["ProductionVariants"][0].get("InstancePools", [])
    variant = {"EndpointName": deployed["Properties"]["EndpointName"], "VariantName": "main"}
    published = [variant, *[variant | {"InstanceType": pool["InstanceType"]} for pool in pools]]

    for namespace, name, dimensions in _metrics(template):
        if namespace == "DecisionEndpoints":
            assert (name in own, dimensions) == (True, {})
        else:
            assert name in SAGEMAKER[namespace]
            assert dimensions in published


def test_every_type_of_a_pool_is_counted_for_itself(pool_page: Template) -> None:
    counted = {dimensions.get("InstanceType") for _, _, dimensions in _metrics(pool_page)}

    assert counted == {None, *TYPES}


def test_the_cost_states_its_arithmetic(pool_page: Template, chat_page: tuple[Template, EndpointDashboard]) -> None:
    assert "instance hours = samples / 60" in _headings(pool_page)[-1]
    assert "ml.g6e.xlarge × 2.6, ml.g5.2xlarge × 1.9" in _headings(pool_page)[-1]
    assert "hourly price in your region" in _headings(chat_page[0])[-1]


def test_the_cost_is_hours_by_price_over_all_types(pool_page: Template) -> None:
    (each_hour,) = [w for w in _widgets(pool_page) if w["properties"].get("title") == "Each hour"]
    expressions = [
        part["expression"]
        for shown in each_hour["properties"]["metrics"]
        for part in shown
        if isinstance(part, dict) and "expression" in part
    ]

    assert {"SUM([cost1, cost2])", "2.6 * hours1", "1.9 * hours2", "minutes1 / 60", "minutes2 / 60"} <= set(expressions)


def test_the_link_opens_the_page_in_its_region(chat_page: tuple[Template, EndpointDashboard]) -> None:
    template, dashboard = chat_page
    assert dashboard.url.startswith(
        "https://us-east-1.console.aws.amazon.com/cloudwatch/home?region=us-east-1#dashboards/"
    )
    # A name of CloudFormation's: two stacks of one app do not collide.
    template.has_resource_properties("AWS::CloudWatch::Dashboard", {"DashboardName": Match.absent()})


@pytest.mark.parametrize(
    ("region", "console"),
    [
        ("us-gov-west-1", "us-gov-west-1.console.amazonaws-us-gov.com"),
        ("cn-north-1", "cn-north-1.console.amazonaws.cn"),
    ],
)
def test_the_link_goes_to_the_console_of_the_partition(
    tmp_path_factory: pytest.TempPathFactory, region: str, console: str
) -> None:
    stack = Stack(App(), "Stack", env=Environment(account=ACCOUNT, region=region))
    watched = endpoint(stack, source(tmp_path_factory.mktemp("model")))

    dashboard = EndpointDashboard(stack, "D", endpoint=watched, alarms=EndpointAlarms(stack, "A", endpoint=watched))

    assert dashboard.url.startswith(f"https://{console}/cloudwatch/home?region={region}#dashboards/")


def test_prices_must_be_those_of_the_endpoints_types(tmp_path_factory: pytest.TempPathFactory) -> None:
    watched = endpoint(new_stack(), source(tmp_path_factory.mktemp("model")), compute=CpuInstance("ml.c6i.xlarge"))

    with pytest.raises(InvalidArguments) as refused:
        _page(watched, prices={"ml.c6i.xlrge": -1})

    assert [complaint.split(":")[0] for complaint in refused.value.complaints] == [
        "prices has none for ml.c6i.xlarge",
        "prices has 'ml.c6i.xlrge'",
        "the price of ml.c6i.xlrge is -1",
    ]
