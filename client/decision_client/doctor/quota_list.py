"""SageMaker's quotas for instances of endpoints, in one region.

Source: Service Quotas user guide and API reference: `ListServiceQuotas` leaves out a quota whose applied value it does
not know, `ListAWSDefaultServiceQuotas` has them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from decision_client.aws import AwsError, Clients, why_not
from decision_client.place import Place

_SERVICE = "sagemaker"
_NAME_END = " for endpoint usage"


@dataclass(frozen=True)
class Quota:
    """A quota: its code, how many instances, and whether that is AWS's default rather than the account's own value."""

    code: str
    value: float
    is_default: bool


@dataclass(frozen=True)
class QuotaList:
    """The quotas by instance type, or why they could not be read."""

    quotas: dict[str, Quota]
    unread: str | None = None


def read_quotas(place: Place, types: set[str], clients: Clients) -> QuotaList:
    """The quotas of these types; of one that is not there, the region has no such quota."""
    client = clients("service-quotas", place.region)
    found: dict[str, Quota] = {}
    for operation, action, is_default in (
        ("list_service_quotas", "servicequotas:ListServiceQuotas", False),
        ("list_aws_default_service_quotas", "servicequotas:ListAWSDefaultServiceQuotas", True),
    ):
        if types <= found.keys():
            break
        try:
            for name, quota in _read(client, operation, is_default):
                if name in types:
                    found.setdefault(name, quota)
        except AwsError as error:
            return QuotaList(found, why_not(error, action))
    return QuotaList(found)


def quota_page(place: Place, code: str | None) -> str:
    """The console's page of one quota, where an increase is asked for, or of the list of them."""
    return place.console(f"servicequotas/home/services/{_SERVICE}/quotas" + (f"/{code}" if code else ""))


def _read(client: object, operation: str, is_default: bool) -> Iterator[tuple[str, Quota]]:
    token: dict[str, str] = {}
    while True:
        page = getattr(client, operation)(ServiceCode=_SERVICE, MaxResults=100, **token)
        for quota in page.get("Quotas", []):
            name = str(quota.get("QuotaName", ""))
            if name.endswith(_NAME_END) and "Value" in quota:
                yield name.removesuffix(_NAME_END), Quota(str(quota["QuotaCode"]), float(quota["Value"]), is_default)
        if not page.get("NextToken"):
            return
        token = {"NextToken": page["NextToken"]}
