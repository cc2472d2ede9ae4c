"""The model's own chat template frames the user message, or the model is refused in a sentence."""

from __future__ import annotations

import pytest

from decision_adapter.chat_template import Frame, render_frame
from decision_adapter.errors import ModelRefused
from tests.support.tiny_gguf import CHAT_TEMPLATE

GEMMA = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}<start_of_turn>{{ message['role'] }}\n{{ message['content'] | trim }}<end_of_turn>\n"
    "{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
DROPS_SYSTEM = "{% for m in messages if m.role == 'user' %}[U]{{ m.content }}{% endfor %}[A]"
TYPED_PARTS = (
    "{% for m in messages %}<{{ m.role }}>{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}"
    "{% endif %}{% endfor %}{% endfor %}<assistant>"
)
THINKS = CHAT_TEMPLATE + (
    "{% if add_generation_prompt and enable_thinking is defined and enable_thinking is false %}"
    "<think>\n\n</think>\n\n{% endif %}"
)


def render(template: str, system: str = "Be brief.") -> Frame:
    return render_frame(template, system=system, bos="<s>", eos="</s>")


def test_the_frame_is_everything_around_the_user_message() -> None:
    frame = render(CHAT_TEMPLATE)

    assert frame.head == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n"
    assert frame.tail == "<|im_end|>\n<|im_start|>assistant\n"
    assert not frame.system_in_user


def test_a_template_that_refuses_a_system_message_leaves_it_to_the_user_message() -> None:
    frame = render(GEMMA)

    assert frame == Frame("<s><start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n", system_in_user=True)


def test_a_template_that_drops_a_system_message_leaves_it_to_the_user_message() -> None:
    assert render(DROPS_SYSTEM) == Frame("[U]", "[A]", system_in_user=True)


def test_a_template_that_takes_only_typed_parts_gets_typed_parts() -> None:
    assert render(TYPED_PARTS) == Frame("<system>Be brief.<user>", "<assistant>", system_in_user=False)


def test_thinking_is_turned_off() -> None:
    assert render(THINKS).tail.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")


def test_without_a_system_text_no_system_message_is_rendered() -> None:
    assert render(CHAT_TEMPLATE, system="").head == "<|im_start|>user\n"


def test_the_prompt_does_not_change_with_the_day() -> None:
    dated = "{{ strftime_now('%d %b %Y') }}" + CHAT_TEMPLATE

    assert render(dated).head.startswith("01 Jan 2025")


def test_what_templates_of_the_hub_use_is_there() -> None:
    template = (
        "{% for m in messages %}{% if loop.index > 9 %}{% break %}{% endif %}\n"
        "    {%- if tools is defined %}{{ tools }}{% endif %}{{ {'ü': 1} | tojson }}{{ m.content }}{% endfor %}A:"
    )

    assert render(template, system="").head == '{"ü": 1}'


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{% for %}", "cannot be read"),
        ("{{ raise_exception('tools are required') }}", "tools are required"),
        ("A:", "shows the user message 0 times"),
        ("{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}A:", "2 times instead of once"),
        ("{% for m in messages %}{{ m.content | upper }}{% endfor %}A:", "shows the user message 0 times"),
        ("{% for m in messages %}{{ m.content }}{% endfor %}", "adds nothing after the user message"),
        ("{% for m in messages %}{{ m.content }}{% endfor %}A:<think>\n", "opens a thought"),
        ("{{ messages.__class__.__mro__ }}", "unsafe"),
        ("{% for i in range(10 ** 9) %}x{% endfor %}", "Range too big"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{% for m in messages %}{{ m.content | tojson }}{% endfor %}A:", "0 times instead of once"),
    ],
)
def test_a_template_that_cannot_be_used_refuses_the_model(template: str, reason: str) -> None:
    with pytest.raises(ModelRefused, match="the model's chat template") as refusal:
        render(template)

    assert reason in str(refusal.value)
