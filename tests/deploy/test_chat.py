"""An environment that answers chat, as it is for AWS but for the model."""

from __future__ import annotations

import json
import shlex

import pytest

from tests.support.deployment import MakeEnvironment
from tests.support.fake_hub import FakeHub

pytestmark = pytest.mark.deploy


def test_chat_dev_answers_what_the_command_it_prints_asks(environment: MakeEnvironment) -> None:
    chat = environment("chat", like="chat-dev")
    with FakeHub() as hub:
        chat.take_from(hub, seed=1)
        created = chat.deploy()

    assert created.succeeded, created.text
    said = shlex.split(chat.outputs()["InvokeCommand"])
    pasted = dict(zip(said[3::2], said[4::2], strict=False))
    answer = chat.hosting.runtime.invoke_endpoint(
        EndpointName=pasted["--endpoint-name"], ContentType=pasted["--content-type"], Body=pasted["--body"]
    )
    completion = json.loads(answer["Body"].read())
    assert completion["object"] == "chat.completion"
    assert completion["choices"][0]["message"]["role"] == "assistant"
