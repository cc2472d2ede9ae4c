"""Numbers and durations that AWS bounds, and the sentence for one that is out of bounds."""

from __future__ import annotations

from aws_cdk import Duration


def count_complaints(what: str, count: int, *, least: int, most: int | None = None) -> list[str]:
    """The sentence for a whole number outside `least` to `most`.

    >>> count_complaints("prefixes", 0, least=1)
    ['prefixes is 0: give at least 1']
    >>> count_complaints("volume_gib", 513, least=1, most=512)
    ['volume_gib is 513: give 1 to 512']
    """
    if count >= least and (most is None or count <= most):
        return []
    return [f"{what} is {count}: give {f'at least {least}' if most is None else f'{least} to {most}'}"]


def seconds_complaints(what: str, duration: Duration, *, least: int, most: int | None = None) -> list[str]:
    """The sentence for a duration that is no whole number of seconds from `least` to `most`."""
    milliseconds = int(duration.to_milliseconds())
    seconds = milliseconds / 1000
    if milliseconds % 1000:
        return [f"{what} is {seconds:g} seconds: SageMaker counts in whole seconds"]
    if seconds >= least and (most is None or seconds <= most):
        return []
    allowed = f"at least {least}" if most is None else f"{least} to {most}"
    return [f"{what} is {seconds:g} seconds: SageMaker allows {allowed}"]
