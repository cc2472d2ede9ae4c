"""Whether the account may run as many instances as the endpoints need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from decision_client.doctor.finding import Finding, Status
from decision_client.doctor.fleet import Fleet
from decision_client.doctor.quota_list import QuotaList, quota_page
from decision_client.place import Place

CHECK = "quota"


def check_quotas(fleets: Sequence[Fleet], quotas: QuotaList, place: Place) -> Iterator[Finding]:
    """One finding for each instance type. What other endpoints of the account use is not subtracted."""
    for name in dict.fromkeys(name for fleet in fleets for name in fleet.types):
        yield _check(name, [fleet for fleet in fleets if name in fleet.types], quotas, place)


def _check(name: str, fleets: list[Fleet], quotas: QuotaList, place: Place) -> Finding:
    needed = sum(fleet.needed for fleet in fleets)
    serving = sum(fleet.most for fleet in fleets)
    first = sum(fleet.initial for fleet in fleets)
    use = f"{needed} needed: {serving} to serve and {needed - serving} more while it updates"
    quota = quotas.quotas.get(name)
    link = quota_page(place, quota.code if quota else None)
    if quota is None and quotas.unread:
        return Finding(CHECK, name, Status.UNKNOWN, f"{quotas.unread} ({use})", link)
    if quota is None:
        sentence = f"SageMaker has no quota '{name} for endpoint usage' in {place.region}: take another type ({use})"
        return Finding(CHECK, name, Status.MISSING, sentence, link)
    allowed = f"{quota.value:g} allowed" + (" (AWS's default)" if quota.is_default else "")
    if quota.value >= needed and not all(fleet.is_counted for fleet in fleets):
        sentence = f"{allowed}, at least {use}: the template leaves a count to the deploy, compare it with the quota"
        return Finding(CHECK, name, Status.UNKNOWN, sentence, link)
    if quota.value >= needed:
        return Finding(CHECK, name, Status.OK, f"{allowed}, {use}")
    instead = " (another type of the pool serves meanwhile)" if any(len(fleet.types) > 1 for fleet in fleets) else ""
    enough = "enough to create it and not for more" if quota.value >= first else "too few to create it"
    sentence = f"{allowed}, {use}; that is {enough}: ask for {needed} at the link{instead}"
    return Finding(CHECK, name, Status.MISSING, sentence, link)
