"""What every part of an environment file has in common."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A part of a file: exactly these keys, with exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def given(self, *names: str) -> list[str]:
        """Those of the keys that the file has a value for."""
        return [name for name in names if getattr(self, name) is not None]


def exactly_one_of(section: Section, *names: str) -> str:
    """The one key that is given.

    Raises
    ------
    ValueError
        If there is none, or more than one.
    """
    given = section.given(*names)
    if len(given) != 1:
        allowed = f"{', '.join(names[:-1])} and {names[-1]}"
        raise ValueError(f"give exactly one of {allowed}; there is {' and '.join(given) if given else 'none of them'}")
    return given[0]


def without_unset(values: Mapping[str, object]) -> dict[str, object]:
    """The arguments that a file gave; the others keep the construct's own defaults."""
    return {name: value for name, value in values.items() if value is not None}
