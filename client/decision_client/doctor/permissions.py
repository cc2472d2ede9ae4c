"""Whether whoever is signed in may deploy, and CloudFormation create what the templates hold.

By simulation, which knows identity policies, permissions boundaries and service control policies, and not the policies
of resources, nor whom a role trusts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from decision_client.assembly import Stack
from decision_client.aws import AwsError, Clients, error_code, why_not
from decision_client.doctor.create_actions import CREATE_ACTIONS
from decision_client.doctor.credentials import Identity
from decision_client.doctor.finding import Finding, Status
from decision_client.doctor.principal import principal_of
from decision_client.place import Place
from decision_client.template_values import Unresolved, resolve

CHECK = "permissions"
_ACTION = "iam:SimulatePrincipalPolicy"
# Where the app is synthesized without roles to assume, the CLI calls CloudFormation itself.
_DEPLOY_ACTIONS = ["cloudformation:CreateChangeSet", "cloudformation:DescribeStacks", "cloudformation:ExecuteChangeSet"]


def check_permissions(stacks: Sequence[Stack], place: Place, identity: Identity, clients: Clients) -> Iterator[Finding]:
    """First of the CLI, then of CloudFormation."""
    yield from _check_caller(stacks, place, identity, clients)
    executors: dict[str, list[Stack]] = {}
    for stack in stacks:
        if stack.execution_role:
            executors.setdefault(role_arn(stack.execution_role, place), []).append(stack)
    for role, executed in executors.items():
        yield _check_executor(role, executed, place, clients)


def role_arn(arn: str, place: Place) -> str:
    """A role's ARN of the manifest, with its placeholders filled in."""
    try:
        return resolve({"Fn::Sub": arn}, lambda reference: place.pseudo_parameters[reference.name])
    except (KeyError, Unresolved):
        return arn


def _check_caller(stacks: Sequence[Stack], place: Place, identity: Identity, clients: Clients) -> Iterator[Finding]:
    link = place.console("iam/home", "/home")
    principal = principal_of(identity.arn, place.region, clients)
    if principal is None:
        sentence = f"IAM cannot simulate {identity.arn}: sign in as a user or role, which the CDK CLI needs too"
        yield Finding(CHECK, "deploy", Status.UNKNOWN, sentence, link)
        return
    wanted = {(role_arn(role, place), "sts:AssumeRole") for stack in stacks for role in _roles(stack)}
    wanted |= {
        (f"arn:{place.partition}:cloudformation:{place.region}:{place.account}:stack/{stack.name}/*", action)
        for stack in stacks
        if not stack.deploy_role
        for action in _DEPLOY_ACTIONS
    }
    for resource, action in sorted(wanted):
        subject = resource.rpartition("/")[2] if action == "sts:AssumeRole" else action
        try:
            decisions = _simulate(principal, [action], resource, place, clients)
        except AwsError as error:
            yield Finding(CHECK, subject, Status.UNKNOWN, _why_no_simulation(error, principal), link)
            continue
        if decisions.get(action) == "allowed":
            yield Finding(CHECK, subject, Status.OK, f"{principal.rpartition('/')[2]} may {action}")
        else:
            sentence = f"no policy of {principal} allows {action} on {resource}: have it allowed"
            yield Finding(CHECK, subject, Status.MISSING, sentence, link)


def _roles(stack: Stack) -> list[str]:
    return [*([stack.deploy_role] if stack.deploy_role else []), *stack.other_roles]


def _check_executor(role: str, stacks: list[Stack], place: Place, clients: Clients) -> Finding:
    kinds = {resource.type for stack in stacks for resource in stack.resources}
    actions = sorted({action for kind in kinds for action in CREATE_ACTIONS.get(kind, ())})
    name = role.rpartition("/")[2]
    link = place.console("iam/home", f"/roles/details/{name}")
    if not actions:
        return Finding(
            CHECK, name, Status.UNKNOWN, "what these stacks create is not known here: look at the role", link
        )
    try:
        decisions = _simulate(role, actions, None, place, clients)
    except AwsError as error:
        if error_code(error) in ("NoSuchEntity", "NoSuchEntityException"):
            sentence = f"{role} does not exist: run `cdk bootstrap {place}`"
            return Finding(CHECK, name, Status.MISSING, sentence, link)
        return Finding(CHECK, name, Status.UNKNOWN, _why_no_simulation(error, role), link)
    allowed = [action for action in actions if decisions.get(action) == "allowed"]
    denied = [action for action in actions if decisions.get(action) == "explicitDeny"]
    unsaid = [action for action in actions if action not in allowed and action not in denied]
    if denied:
        sentence = f"a policy of CloudFormation's role denies {', '.join(denied)}: have that lifted"
        return Finding(CHECK, name, Status.MISSING, sentence, link)
    if not allowed:
        sentence = (
            "CloudFormation's role may create nothing that the stacks hold: run "
            f"`cdk bootstrap {place} --cloudformation-execution-policies …` with the policies it shall have"
        )
        return Finding(CHECK, name, Status.MISSING, sentence, link)
    if unsaid:
        # Its policies may name single resources, whose names are not known yet.
        sentence = f"no policy of CloudFormation's role allows {', '.join(unsaid)} on every resource: look whether"
        return Finding(CHECK, name, Status.UNKNOWN, f"{sentence} it does on those of these stacks", link)
    return Finding(CHECK, name, Status.OK, f"CloudFormation may create what the stacks hold ({len(actions)} actions)")


def _simulate(
    principal: str, actions: list[str], resource: str | None, place: Place, clients: Clients
) -> dict[str, str]:
    """IAM's decision for each action."""
    client = clients("iam", place.region)
    decisions: dict[str, str] = {}
    page: dict[str, str] = {}
    while True:
        answer = client.simulate_principal_policy(
            PolicySourceArn=principal,
            ActionNames=actions,
            **({"ResourceArns": [resource]} if resource else {}),
            **page,
        )
        decisions |= {each["EvalActionName"]: each["EvalDecision"] for each in answer["EvaluationResults"]}
        if not answer.get("IsTruncated"):
            return decisions
        page = {"Marker": answer["Marker"]}


def _why_no_simulation(error: Exception, principal: str) -> str:
    if error_code(error) in ("NoSuchEntity", "NoSuchEntityException"):
        return (
            f"IAM does not find {principal}; a role with a path is only found where these credentials may call "
            "iam:GetRole: have it allowed, or look at its policies"
        )
    return why_not(error, _ACTION)
