"""What a deploy prints for a person to use."""

from __future__ import annotations

import json
import shlex

from decision_client.decisions import request_for_one
from decision_client.examples import EXAMPLE_DECISION

_CHAT_REQUEST = {"messages": [{"role": "user", "content": "Say hello in one word."}], "max_tokens": 16}


def invoke_command(endpoint_name: str, region: str, *, answers: str) -> str:
    """A command of the AWS CLI that asks the endpoint, and prints its answer.

    >>> invoke_command("chat-dev", "us-east-1", answers="chat").partition(" --endpoint-name ")[2][:8]
    'chat-dev'
    """
    request = request_for_one(EXAMPLE_DECISION).decode() if answers == "decisions" else json.dumps(_CHAT_REQUEST)
    return shlex.join(
        [
            "aws",
            "sagemaker-runtime",
            "invoke-endpoint",
            "--region",
            region,
            "--endpoint-name",
            endpoint_name,
            "--content-type",
            "application/json",
            "--cli-binary-format",
            "raw-in-base64-out",
            "--body",
            request,
            "/dev/stdout",
        ]
    )
