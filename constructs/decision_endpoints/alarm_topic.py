"""Where alarms go: a topic that is encrypted and that CloudWatch may still publish to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from .errors import InvalidArguments

_CLOUDWATCH = "cloudwatch.amazonaws.com"
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


class AlarmTopic(Construct):
    """An SNS topic with a key of its own, which the alarms of this account may publish to, over TLS only.

    An alarm whose topic is encrypted with a key that does not admit CloudWatch is silent, and so is one whose topic has
    a policy that does not: both do here, for this account's alarms alone. The key rotates each year; topic and key go
    with the stack, since neither keeps anything.

    Parameters
    ----------
    emails:
        Addresses to notify; each gets a message that it must confirm. Default: none.

    Attributes
    ----------
    topic, key:
        The topic, and the key that encrypts it.

    Raises
    ------
    InvalidArguments
        If an address is none, or is given twice; all complaints at once.

    Examples
    --------
    >>> alarm_topic = AlarmTopic(stack, "AlarmTopic", emails=["on-call@example.com"])
    >>> AlarmTopic(stack, "Other", emails=["on-call"])
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: AlarmTopic Stack/Other: 'on-call' is no e-mail address: ...

    Source: Amazon SNS developer guide, "Enable compatibility between event sources from AWS services and encrypted
    topics"; Amazon CloudWatch user guide, "Notify users on alarm changes".
    """

    def __init__(self, scope: Construct, id: str, *, emails: Sequence[str] = ()) -> None:
        super().__init__(scope, id)
        # A lone text is a sequence too, of letters.
        addresses = [emails] if isinstance(emails, str) else list(emails)
        complaints = address_complaints(addresses)
        if complaints:
            raise InvalidArguments(f"AlarmTopic {self.node.path}", complaints)
        self.key = kms.Key(
            self,
            "Key",
            description="Encrypts the notifications of alarms",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.DESTROY,
            pending_window=Duration.days(7),
        )
        self.topic = sns.Topic(self, "Topic", master_key=self.key, enforce_ssl=True)
        self._admit_alarms()
        for address in addresses:
            self.topic.add_subscription(subscriptions.EmailSubscription(address))

    def _admit_alarms(self) -> None:
        of_this_account = {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
        principal = iam.ServicePrincipal(_CLOUDWATCH)
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsEncrypt",
                principals=[principal],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                # In a key's policy: this key.
                resources=["*"],
                conditions=of_this_account,
            )
        )
        # The policy that refuses plain HTTP takes the place of SNS's own, which lets the account's alarms publish.
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsPublish",
                principals=[principal],
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions=of_this_account,
            )
        )


def address_complaints(addresses: list[str]) -> list[str]:
    """The sentences for what is no address, or is there twice.

    >>> address_complaints(["on-call"])
    ["'on-call' is no e-mail address: write name@example.com"]
    """
    return [
        *[
            f"{each!r} is no e-mail address: write name@example.com"
            for each in dict.fromkeys(addresses)
            if not _EMAIL.fullmatch(each)
        ],
        *[
            f"{each!r} is there {addresses.count(each)} times: name each address once"
            for each in dict.fromkeys(addresses)
            if addresses.count(each) > 1
        ],
    ]
