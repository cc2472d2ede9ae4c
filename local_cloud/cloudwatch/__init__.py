"""What CloudWatch does beyond the emulator's: metric filters that count, and alarms with metric math and dimensions."""

from __future__ import annotations

from local_cloud.cloudwatch import alarm_resources, alarms, metric_filters, metrics


def install() -> None:
    """Put this package's parts in place of the emulator's."""
    metrics.install()
    alarms.install()
    alarm_resources.install()
    metric_filters.install()
