"""Whether an instance type exists in the region.

No API says where SageMaker hosts which type, so two sources must agree: Service Quotas has a quota for it there, and
EC2, whose instances they are, offers it there. Either one's no is a no; without both it is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from decision_client.aws import AwsError, Clients, why_not
from decision_client.doctor.finding import Finding, Status
from decision_client.doctor.fleet import Fleet
from decision_client.doctor.quota_list import QuotaList
from decision_client.place import Place

CHECK = "instance type"
_REGIONS = "https://aws.amazon.com/sagemaker/ai/pricing/"


def check_offerings(fleets: Sequence[Fleet], quotas: QuotaList, place: Place, clients: Clients) -> Iterator[Finding]:
    """One finding for each instance type."""
    names = list(dict.fromkeys(name for fleet in fleets for name in fleet.types))
    if not names:
        return
    offered: set[str] | None = None
    unread = ""
    try:
        offered = _offered_by_ec2(names, place, clients)
    except AwsError as error:
        unread = why_not(error, "ec2:DescribeInstanceTypeOfferings")
    for name in names:
        if name not in quotas.quotas and quotas.unread is None:
            sentence = f"SageMaker knows no {name} for endpoints in {place.region}: take another type or region"
            yield Finding(CHECK, name, Status.MISSING, sentence, _REGIONS)
        elif offered is not None and name not in offered:
            sentence = f"EC2 does not offer {name.removeprefix('ml.')} in {place.region}: take another type or region"
            yield Finding(CHECK, name, Status.MISSING, sentence, _REGIONS)
        elif offered is None or name not in quotas.quotas:
            yield Finding(CHECK, name, Status.UNKNOWN, unread or str(quotas.unread), _REGIONS)
        else:
            yield Finding(CHECK, name, Status.OK, f"offered in {place.region}")


def _offered_by_ec2(names: list[str], place: Place, clients: Clients) -> set[str]:
    client = clients("ec2", place.region)
    found: set[str] = set()
    token: dict[str, str] = {}
    while True:
        page = client.describe_instance_type_offerings(
            LocationType="region",
            Filters=[{"Name": "instance-type", "Values": [name.removeprefix("ml.") for name in names]}],
            **token,
        )
        found |= {f"ml.{offering['InstanceType']}" for offering in page.get("InstanceTypeOfferings", [])}
        if not page.get("NextToken"):
            return found
        token = {"NextToken": page["NextToken"]}
