"""An account and region, with what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

# The beginning of a region's name says which partition it is in: its name in ARNs, its domain, its console.
_PARTITIONS = (
    ("cn-", "aws-cn", "amazonaws.com.cn", "console.amazonaws.cn"),
    ("us-gov-", "aws-us-gov", "amazonaws.com", "console.amazonaws-us-gov.com"),
    ("", "aws", "amazonaws.com", "console.aws.amazon.com"),
)


@dataclass(frozen=True)
class Place:
    """Where a stack goes.

    Examples
    --------
    >>> place = Place("123456789012", "eu-west-1")
    >>> place.console("cloudformation/home", "/stacks")
    'https://eu-west-1.console.aws.amazon.com/cloudformation/home?region=eu-west-1#/stacks'
    """

    account: str
    region: str

    def __str__(self) -> str:
        return f"aws://{self.account}/{self.region}"

    @property
    def partition(self) -> str:
        """Its name in ARNs."""
        return self._facts[1]

    @property
    def url_suffix(self) -> str:
        """The domain of its services."""
        return self._facts[2]

    @property
    def pseudo_parameters(self) -> dict[str, str]:
        """What `AWS::Region` and its like stand for in a template of this place."""
        return {
            "AWS::AccountId": self.account,
            "AWS::Region": self.region,
            "AWS::Partition": self.partition,
            "AWS::URLSuffix": self.url_suffix,
        }

    def console(self, path: str, fragment: str = "") -> str:
        """The address of a page of the console."""
        anchor = f"#{quote(fragment, safe='/?=:@-')}" if fragment else ""
        return f"https://{self.region}.{self._facts[3]}/{path}?region={self.region}{anchor}"

    @property
    def _facts(self) -> tuple[str, str, str, str]:
        return next(facts for facts in _PARTITIONS if self.region.startswith(facts[0]))
