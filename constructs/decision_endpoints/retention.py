"""How many days a retention is."""

from __future__ import annotations

from aws_cdk import aws_logs as logs

# In jsii an enumeration's number stays on the other side; these are the days that CloudWatch Logs takes.
_DAYS = {
    "ONE_DAY": 1,
    "THREE_DAYS": 3,
    "FIVE_DAYS": 5,
    "ONE_WEEK": 7,
    "TWO_WEEKS": 14,
    "ONE_MONTH": 30,
    "TWO_MONTHS": 60,
    "THREE_MONTHS": 90,
    "FOUR_MONTHS": 120,
    "FIVE_MONTHS": 150,
    "SIX_MONTHS": 180,
    "ONE_YEAR": 365,
    "THIRTEEN_MONTHS": 400,
    "EIGHTEEN_MONTHS": 545,
    "TWO_YEARS": 731,
    "THREE_YEARS": 1096,
    "FIVE_YEARS": 1827,
    "SIX_YEARS": 2192,
    "SEVEN_YEARS": 2557,
    "EIGHT_YEARS": 2922,
    "NINE_YEARS": 3288,
    "TEN_YEARS": 3653,
    "INFINITE": None,
}


def retention_days(retention: logs.RetentionDays) -> int | None:
    """The days, None for ever.

    >>> retention_days(logs.RetentionDays.THREE_MONTHS)
    90
    """
    return _DAYS[retention.name]
