"""How an update reaches a running endpoint, and what makes SageMaker take it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sagemaker as sagemaker

from .errors import InvalidArguments
from .ranges import count_complaints, seconds_complaints

MOST_ALARMS = 10
"""What SageMaker watches during one deployment."""

_LONGEST_WAIT = 3600
_SHORTEST_TIMEOUT = 600
_LONGEST_TIMEOUT = 28_800
# With alarms and nothing said about how long to watch them.
_DEFAULT_BAKE_SECONDS = 300

_Kind = Literal["ALL_AT_ONCE", "CANARY", "LINEAR", "ROLLING"]
# The percentages that SageMaker takes for a step, and how we call it.
_STEPS: dict[_Kind, tuple[int, int]] = {"CANARY": (1, 50), "LINEAR": (10, 50), "ROLLING": (5, 50)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """The way from the old fleet to the new one; made with `all_at_once`, `canary`, `linear` or `rolling`.

    The first three bring up a whole new fleet beside the old one (blue/green), so an update needs twice the instances
    for a while; a rolling one replaces a part after the other. If one of the alarms goes off meanwhile, SageMaker
    returns to the old fleet, the deployment fails, and so does the stack's update.

    An alarm on busy answers (503) does not belong here: under overload it would stop the very update that adds
    capacity.

    Parameters
    ----------
    alarms:
        At most 10, together with those of `endpoint.roll_back_on`. Default: none.
    percent:
        Of the fleet: for the canary 1 to 50, for a linear step 10 to 50, for a rolling batch 5 to 50. Default: 10, 25
        and 25. The smallest step is one instance and at most half of the fleet, so each of these needs 2 instances.
    bake, interval:
        How long the alarms are watched after a step, at most an hour. Default: 10 minutes; all at once: 5 minutes if
        there are alarms, else none.
    termination_wait:
        How much longer the old fleet stays, at most an hour. Default: none.
    timeout:
        How long the whole may take, 10 minutes to 8 hours, and more than all the waiting. Default: SageMaker's own.

    Raises
    ------
    InvalidArguments
        If a number is out of range; when given to an endpoint: if its fleet is too small for the steps.

    Examples
    --------
    >>> Rollout.canary(percent=20, bake=Duration.minutes(15)).percent
    20
    >>> Rollout.linear(percent=5)
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: Rollout.linear: percent is 5: give 10 to 50

    Source: Amazon SageMaker API reference, "BlueGreenUpdatePolicy", "RollingUpdatePolicy" and "TrafficRoutingConfig";
    developer guide, "Deployment guardrails".
    """

    kind: _Kind
    percent: int | None = None
    wait_seconds: int | None = None
    termination_wait_seconds: int | None = None
    timeout_seconds: int | None = None
    alarms: tuple[cloudwatch.IAlarm, ...] = ()

    @classmethod
    def all_at_once(
        cls,
        *,
        bake: Duration | None = None,
        termination_wait: Duration | None = None,
        timeout: Duration | None = None,
        alarms: Sequence[cloudwatch.IAlarm] = (),
    ) -> Rollout:
        """All traffic moves in one step when the new fleet is healthy."""
        return cls._checked("ALL_AT_ONCE", None, ("bake", bake), termination_wait, timeout, alarms)

    @classmethod
    def canary(
        cls,
        *,
        percent: int = 10,
        bake: Duration | None = None,
        termination_wait: Duration | None = None,
        timeout: Duration | None = None,
        alarms: Sequence[cloudwatch.IAlarm] = (),
    ) -> Rollout:
        """A part first, and after `bake` the rest, which is watched as long again."""
        watch = ("bake", bake or Duration.minutes(10))
        return cls._checked("CANARY", percent, watch, termination_wait, timeout, alarms)

    @classmethod
    def linear(
        cls,
        *,
        percent: int = 25,
        interval: Duration | None = None,
        termination_wait: Duration | None = None,
        timeout: Duration | None = None,
        alarms: Sequence[cloudwatch.IAlarm] = (),
    ) -> Rollout:
        """In equal steps, `interval` apart."""
        watch = ("interval", interval or Duration.minutes(10))
        return cls._checked("LINEAR", percent, watch, termination_wait, timeout, alarms)

    @classmethod
    def rolling(
        cls,
        *,
        percent: int = 25,
        bake: Duration | None = None,
        timeout: Duration | None = None,
        alarms: Sequence[cloudwatch.IAlarm] = (),
    ) -> Rollout:
        """Batch by batch: new instances come up, are watched, and the old ones they replace go."""
        watch = ("bake", bake or Duration.minutes(10))
        return cls._checked("ROLLING", percent, watch, None, timeout, alarms)

    @classmethod
    def _checked(
        cls,
        kind: _Kind,
        percent: int | None,
        watch: tuple[str, Duration | None],
        termination_wait: Duration | None,
        timeout: Duration | None,
        alarms: Sequence[cloudwatch.IAlarm],
    ) -> Rollout:
        what, wait = watch
        complaints = []
        if percent is not None:
            least, most = _STEPS[kind]
            complaints += count_complaints("percent", percent, least=least, most=most)
        if wait:
            complaints += seconds_complaints(what, wait, least=0, most=_LONGEST_WAIT)
        if termination_wait:
            complaints += seconds_complaints("termination_wait", termination_wait, least=0, most=_LONGEST_WAIT)
        if timeout:
            complaints += seconds_complaints("timeout", timeout, least=_SHORTEST_TIMEOUT, most=_LONGEST_TIMEOUT)
        complaints += too_many_alarms(len(alarms))
        if not complaints:
            rollout = cls(
                kind=kind,
                percent=percent,
                wait_seconds=_seconds(wait),
                termination_wait_seconds=_seconds(termination_wait),
                timeout_seconds=_seconds(timeout),
                alarms=tuple(alarms),
            )
            complaints += rollout._timeout_complaints(what)
        if complaints:
            raise InvalidArguments(f"Rollout.{kind.lower()}", complaints)
        return rollout

    def complaints(self, *, fewest_instances: int, shadowed: bool) -> list[str]:
        """What does not go with the endpoint that is updated."""
        name = f"Rollout.{self.kind.lower()}"
        complaints = []
        if self.percent is not None and fewest_instances < 2:
            found = f"{name} moves at most half of the fleet at a time and the endpoint can have {fewest_instances}"
            complaints.append(
                f"{found} instance: give it 2 (with scaling: min 2), or take Rollout.all_at_once, which has alarms too"
            )
        if self.kind == "ROLLING" and shadowed:
            complaints.append(f"{name} is for endpoints of one variant and there is a shadow: take another rollout")
        return complaints

    def deployment_config(
        self, alarms: Sequence[cloudwatch.IAlarm]
    ) -> sagemaker.CfnEndpoint.DeploymentConfigProperty | None:
        """What CloudFormation is told; None where SageMaker does all of it anyway."""
        if self == Rollout(kind="ALL_AT_ONCE", alarms=self.alarms) and not alarms:
            return None
        rollback = sagemaker.CfnEndpoint.AutoRollbackConfigProperty(
            alarms=[sagemaker.CfnEndpoint.AlarmProperty(alarm_name=alarm.alarm_name) for alarm in alarms]
        )
        wait = self.wait_seconds
        if wait is None:
            wait = _DEFAULT_BAKE_SECONDS if alarms else 0
        return sagemaker.CfnEndpoint.DeploymentConfigProperty(
            auto_rollback_configuration=rollback if alarms else None,
            blue_green_update_policy=None if self.kind == "ROLLING" else self._blue_green(wait),
            rolling_update_policy=self._rolling(wait) if self.kind == "ROLLING" else None,
        )

    def _blue_green(self, wait: int) -> sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty:
        return sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty(
            traffic_routing_configuration=sagemaker.CfnEndpoint.TrafficRoutingConfigProperty(
                type=self.kind,
                wait_interval_in_seconds=wait,
                canary_size=self._size() if self.kind == "CANARY" else None,
                linear_step_size=self._size() if self.kind == "LINEAR" else None,
            ),
            termination_wait_in_seconds=self.termination_wait_seconds,
            maximum_execution_timeout_in_seconds=self.timeout_seconds,
        )

    def _rolling(self, wait: int) -> sagemaker.CfnEndpoint.RollingUpdatePolicyProperty:
        return sagemaker.CfnEndpoint.RollingUpdatePolicyProperty(
            maximum_batch_size=self._size(),
            wait_interval_in_seconds=wait,
            maximum_execution_timeout_in_seconds=self.timeout_seconds,
        )

    def _size(self) -> sagemaker.CfnEndpoint.CapacitySizeProperty:
        return sagemaker.CfnEndpoint.CapacitySizeProperty(type="CAPACITY_PERCENT", value=self.percent or 100)

    def _timeout_complaints(self, what: str) -> list[str]:
        if self.timeout_seconds is None:
            return []
        # A canary is two steps whatever its size.
        steps = {"ALL_AT_ONCE": 1, "CANARY": 2}.get(self.kind) or -(-100 // (self.percent or 100))
        waiting = steps * (self.wait_seconds or 0) + (self.termination_wait_seconds or 0)
        if waiting < self.timeout_seconds:
            return []
        found = f"timeout is {self.timeout_seconds} seconds and {what} and termination_wait take {waiting} together"
        return [f"{found}: give more, or wait less"]


def too_many_alarms(count: int) -> list[str]:
    """The sentence for more alarms than SageMaker watches."""
    return [] if count <= MOST_ALARMS else [f"there are {count} alarms: SageMaker watches at most {MOST_ALARMS}"]


def _seconds(duration: Duration | None) -> int | None:
    return None if duration is None else int(duration.to_seconds())
