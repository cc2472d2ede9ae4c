"""One page about one endpoint, in the order an operator asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import Duration, Stack, Token
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk.region_info import RegionInfo
from constructs import Construct

from .alarms import EndpointAlarms
from .endpoint_metrics import INSTANCE_NAMESPACE
from .errors import InvalidArguments, did_you_mean
from .fleet import instance_count, instance_minutes, instance_types
from .hosted_endpoint import HostedEndpoint

_WIDTH = 24
_HALF = 12
_CONSOLES = {"aws-cn": "console.amazonaws.cn", "aws-us-gov": "console.amazonaws-us-gov.com"}
_Left = Sequence[cloudwatch.IMetric]


class EndpointDashboard(Construct):
    """A CloudWatch dashboard: the alarms, then is it up, is it answering, how long does it take, who is refused, where
    does it run, what does it cost.

    Parameters
    ----------
    endpoint:
        A `DecisionEndpoint` or a `ChatEndpoint`.
    alarms:
        Its alarms.
    prices:
        What an hour of each instance type costs, in a currency of your choice, to show what the fleet cost: the prices
        of your region, with your discounts. Default: the page shows instance hours.

    Attributes
    ----------
    dashboard:
        The dashboard.
    url:
        Its address in the console.

    Raises
    ------
    InvalidArguments
        If a price is not above 0, is missing for one of the endpoint's types, or is for a type that it does not have.

    Examples
    --------
    >>> dashboard = EndpointDashboard(
    ...     stack, "Dashboard", endpoint=endpoint, alarms=EndpointAlarms(stack, "AlarmsOfDashboard", endpoint=endpoint)
    ... )
    >>> dashboard.url.startswith("https://us-east-1.console.aws.amazon.com/cloudwatch/")
    True
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        endpoint: HostedEndpoint,
        alarms: EndpointAlarms,
        prices: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(scope, id)
        self._endpoint = endpoint
        self._alarms = alarms
        self._types = instance_types(endpoint)
        complaints = _price_complaints(prices, self._types)
        if complaints:
            raise InvalidArguments(f"EndpointDashboard {self.node.path}", complaints)

        self.dashboard = cloudwatch.Dashboard(
            self,
            "Dashboard",
            default_interval=Duration.hours(12),
            widgets=[
                self._alarm_status(),
                [_heading(f"{endpoint.endpoint_name}: is it up?")],
                self._is_it_up(),
                [_heading("Is it answering?")],
                self._is_it_answering(),
                [_heading("How long does it take?")],
                self._how_long(),
                [_heading("Who is refused?")],
                self._who_is_refused(),
                [_heading("Where does it run?")],
                self._where(),
                [_heading(self._cost_arithmetic(prices), height=2)],
                self._cost(prices),
            ],
        )
        region = Stack.of(self).region
        self.url = (
            f"https://{region}.{_console(region)}/cloudwatch/home?region={region}"
            f"#dashboards/dashboard/{self.dashboard.dashboard_name}"
        )

    def _alarm_status(self) -> list[cloudwatch.IWidget]:
        alarms = list(self._alarms.alarms.values())
        # CloudWatch refuses the widget without an alarm.
        return [cloudwatch.AlarmStatusWidget(title="Alarms", alarms=alarms, width=_WIDTH, height=3)] if alarms else []

    def _is_it_up(self) -> list[cloudwatch.IWidget]:
        instances = _graph("Instances", [instance_count(self._endpoint, self._types, label="instances")])
        log_metrics = self._alarms.log_metrics
        if log_metrics is None:
            return [instances]
        refused = [
            log_metrics.load_failures().with_(label="model not loaded"),
            log_metrics.offload_failures().with_(label="layers not offloaded"),
        ]
        return [instances, _graph("Containers that refused to serve", refused)]

    def _is_it_answering(self) -> list[cloudwatch.IWidget]:
        metric, log_metrics = self._endpoint.metric, self._alarms.log_metrics
        seen = [metric("Invocations").with_(label="requests"), metric("Invocation5XXErrors").with_(label="5xx")]
        if log_metrics is None:
            return [_graph("Requests", seen)]
        answers = [
            log_metrics.answered().with_(label="answered"),
            log_metrics.failed().with_(label="failed"),
            log_metrics.low_slot_mass().with_(label="of the answers: low slot mass"),
        ]
        return [
            _graph("Requests, as SageMaker counts them", seen),
            _graph("Answers, as the adapter logs them", answers),
        ]

    def _how_long(self) -> list[cloudwatch.IWidget]:
        latency = [
            cloudwatch.MathExpression(
                expression=f"{name} / 1000000",
                using_metrics={name: self._endpoint.metric("ModelLatency", statistic=name)},
                label=f"{name} s",
                period=Duration.minutes(1),
            )
            for name in ("p50", "p95", "p99")
        ]
        widgets: list[cloudwatch.IWidget] = [_graph("Latency of the container, seconds", latency)]
        log_metrics = self._alarms.log_metrics
        if log_metrics is not None:
            waits = [log_metrics.queue_time(statistic=name).with_(label=f"{name} ms") for name in ("p50", "p95")]
            widgets.append(_graph("Waiting for a turn, milliseconds", waits))
        return widgets

    def _who_is_refused(self) -> list[cloudwatch.IWidget]:
        log_metrics = self._alarms.log_metrics
        wrong = self._endpoint.metric("Invocation4XXErrors").with_(label="4xx")
        if log_metrics is None:
            return [_graph("Refused requests", [wrong])]
        refused = [log_metrics.busy().with_(label="busy, 503"), log_metrics.refused().with_(label="wrong, 4xx")]
        return [_graph("Refused requests", refused), _graph("Refused requests, as SageMaker counts them", [wrong])]

    def _where(self) -> list[cloudwatch.IWidget]:
        def used(name: str, label: str) -> cloudwatch.Metric:
            return self._endpoint.metric(name, namespace=INSTANCE_NAMESPACE, statistic="Average").with_(label=label)

        load = [used("CPUUtilization", "CPU, % of one vCPU"), used("MemoryUtilization", "memory, %")]
        if self._endpoint.compute.kind == "GPU":
            load += [
                used("GPUUtilization", "GPU, % of one"),
                used("GPUMemoryUtilization", "GPU memory, % of one GPU's"),
            ]
        types = [instance_count(self._endpoint, [name], label=name) for name in self._types]
        return [_graph("Instances by type", types), _graph("Load, average of the instances", load)]

    def _cost_arithmetic(self, prices: Mapping[str, float] | None) -> str:
        minutes = "Each running instance publishes one CPU sample a minute: instance hours = samples / 60."
        if prices is None:
            return f"What does it cost? {minutes} Multiply them by the type's hourly price in your region."
        shown = ", ".join(f"{name} × {prices[name]:g}" for name in self._types)
        return f"What does it cost? {minutes} Cost = hours × hourly price: {shown}."

    def _cost(self, prices: Mapping[str, float] | None) -> list[cloudwatch.IWidget]:
        hours = [self._hours(name, number) for number, name in enumerate(self._types, start=1)]
        shown: list[cloudwatch.IMetric] = list(hours)
        if prices is not None:
            priced = [
                cloudwatch.MathExpression(
                    expression=f"{prices[name]:g} * hours{number}",
                    using_metrics={f"hours{number}": self._hours(name, number)},
                    period=Duration.hours(1),
                )
                for number, name in enumerate(self._types, start=1)
            ]
            costs = {f"cost{number}": each for number, each in enumerate(priced, start=1)}
            shown.append(
                cloudwatch.MathExpression(
                    expression=f"SUM([{', '.join(costs)}])",
                    using_metrics=dict(costs),
                    label="cost",
                    period=Duration.hours(1),
                )
            )
        in_all = cloudwatch.SingleValueWidget(
            title="In the time shown", metrics=shown, set_period_to_time_range=True, width=_HALF, height=6
        )
        return [_graph("Each hour", shown), in_all]

    def _hours(self, instance_type: str, number: int) -> cloudwatch.MathExpression:
        return cloudwatch.MathExpression(
            expression=f"minutes{number} / 60",
            using_metrics={
                f"minutes{number}": instance_minutes(self._endpoint, instance_type, period=Duration.hours(1))
            },
            label=f"{instance_type} hours",
            period=Duration.hours(1),
        )


def _console(region: str) -> str:
    """The domain of the console: each partition has its own. Of a region that only the deploy knows, the common one."""
    partition = None if Token.is_unresolved(region) else RegionInfo.get(region).partition
    return _CONSOLES.get(partition or "aws", "console.aws.amazon.com")


def _heading(text: str, *, height: int = 1) -> cloudwatch.IWidget:
    return cloudwatch.TextWidget(markdown=f"## {text}" if height == 1 else text, width=_WIDTH, height=height)


def _graph(title: str, metrics: _Left) -> cloudwatch.IWidget:
    # From zero: a scale of its own makes noise look like an event.
    axis = cloudwatch.YAxisProps(min=0, show_units=False)
    return cloudwatch.GraphWidget(title=title, left=list(metrics), left_y_axis=axis, width=_HALF, height=6)


def _price_complaints(prices: Mapping[str, float] | None, types: Sequence[str]) -> list[str]:
    if prices is None:
        return []
    return [
        *[f"prices has none for {name}: give what an hour of it costs" for name in types if name not in prices],
        *[f"prices has {name!r}: {did_you_mean(name, types)}" for name in prices if name not in types],
        *[f"the price of {name} is {price:g}: give more than 0" for name, price in prices.items() if not price > 0],
    ]
