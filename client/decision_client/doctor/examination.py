"""All checks, in the order in which a person would clear up what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from decision_client.assembly import Stack
from decision_client.aws import Clients
from decision_client.doctor import app_files, bootstrap, credentials, driver_ami, images, offerings, permissions, quotas
from decision_client.doctor.credentials import Identity
from decision_client.doctor.finding import Finding, Status
from decision_client.doctor.fleet import Fleet, fleets_of
from decision_client.doctor.quota_list import read_quotas
from decision_client.place import Place


class NoRegion(Exception):
    """Some stacks leave the region to whoever deploys, and none was named."""


def examine(
    stacks: Sequence[Stack],
    *,
    region: str | None,
    clients: Clients,
    on_check: Callable[[str], None] = lambda name: None,
) -> Iterator[Finding]:
    """Make every check.

    Parameters
    ----------
    stacks:
        The stacks that would be deployed.
    region:
        Where those go that name no region.
    clients:
        Gives the clients of AWS.
    on_check:
        Is told the name of each check before it is made.

    Raises
    ------
    NoRegion
        If `region` is None and a stack names none.
    """
    regions = {stack.region or region for stack in stacks}
    known = sorted(each for each in regions if each)
    if len(known) < len(regions):
        raise NoRegion("the stacks name no region, and neither does the profile: name one with --region")
    on_check(credentials.CHECK)
    finding, identity = credentials.check_credentials(stacks, known[0], clients)
    yield finding
    yield from app_files.check_app(stacks)
    yield from app_files.check_files(stacks)
    for each in known:
        there = [stack for stack in stacks if (stack.region or region) == each]
        if identity is None:
            yield from _unmade(there, each)
        else:
            yield from _examine_place(there, Place(identity.account, each), identity, clients, on_check)


def _examine_place(
    stacks: Sequence[Stack], place: Place, identity: Identity, clients: Clients, on_check: Callable[[str], None]
) -> Iterator[Finding]:
    on_check(bootstrap.CHECK)
    yield from bootstrap.check_bootstrap(stacks, place, clients)
    fleets = fleets_of(stacks, place)
    types = {name for fleet in fleets for name in fleet.types}
    if types:
        on_check("quotas")
        found = read_quotas(place, types, clients)
        yield from quotas.check_quotas(fleets, found, place)
        on_check(offerings.CHECK)
        yield from offerings.check_offerings(fleets, found, place, clients)
    yield from driver_ami.check_driver_amis(fleets)
    on_check(images.CHECK)
    yield from images.check_images(stacks, place, clients)
    on_check(permissions.CHECK)
    yield from permissions.check_permissions(stacks, place, identity, clients)


def _unmade(stacks: Sequence[Stack], region: str) -> Iterator[Finding]:
    """Asked as nobody, or of another account, AWS would say nothing, or something else."""
    fleets: list[Fleet] = fleets_of(stacks, Place("000000000000", region))
    sentence = "not checked without credentials of the account"
    checks = [bootstrap.CHECK, *([quotas.CHECK, offerings.CHECK] if fleets else []), images.CHECK, permissions.CHECK]
    for check in checks:
        yield Finding(check, region, Status.UNKNOWN, sentence)
    yield from driver_ami.check_driver_amis(fleets)
