"""A list that CDK reads only when it writes the template, so that it may still grow until then."""

from __future__ import annotations

import jsii
from aws_cdk import IStableListProducer


@jsii.implements(IStableListProducer)
class LazyList:
    """Hand it to `Lazy.list`."""

    def __init__(self, items: list[str]) -> None:
        self._items = items

    def produce(self) -> list[str]:
        """The list as it stands now."""
        return list(self._items)
