"""A chat GGUF made into one that llama-server's own `/v1/systemone` serves: with a decision type, and our own words.

llama-server answers there only for a model whose metadata declare a decision type and hold a template named
`systemone`. The template written here says word for word what the adapter's built-in profile says in the model's own
chat template, so that both are asked to evaluate the same prompts.
"""

from __future__ import annotations

from pathlib import Path

from gguf import GGUFReader, GGUFValueType, GGUFWriter

from decision_adapter.profile import DEFAULT_PROFILE

# The letters of a question's options, in their order.
DECISION_TYPE = "openjev"
_CHAT_TEMPLATE = "tokenizer.chat_template"


def systemone_template() -> str:
    """The profile's words in ChatML, which is SmolLM2's chat format.

    llama.cpp gives the template `state`, `instructions` and `options`, each of these with `key` and `description`.
    """
    profile = DEFAULT_PROFILE
    user = (
        profile.user.replace("{state}", "{{ state if state is string else (state|tojson) }}")
        .replace("{question}", "{{ instructions if instructions is string else (instructions|tojson) }}")
        .replace("{options}", _options())
    )
    return (
        f"<|im_start|>system\n{profile.system}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"
    )


def _options() -> str:
    return (
        "{% for o in options %}{{ 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[loop.index0] }}. {{ o.key }}"
        "{% if o.description %}: {{ o.description if o.description is string else (o.description|tojson) }}{% endif %}"
        "{% if not loop.last %}{{ '\\n' }}{% endif %}{% endfor %}"
    )


def write_decision_gguf(source: Path, target: Path) -> Path:
    """Copy the model at `source` to `target` with what llama-server asks for; the weights stay byte for byte."""
    reader = GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    # Under another name until it is whole: a run that is broken off must not leave half a model behind.
    unfinished = target.with_suffix(".unfinished")
    writer = GGUFWriter(unfinished, architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        if name == _CHAT_TEMPLATE:
            writer.add_string(name, field.contents())
            continue
        kind = field.types[0]
        writer.add_key_value(
            name, field.contents(), kind, sub_type=field.types[-1] if kind == GGUFValueType.ARRAY else None
        )
    writer.add_string(f"{architecture}.decision.type", DECISION_TYPE)
    writer.add_string(f"{_CHAT_TEMPLATE}.systemone", systemone_template())
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    unfinished.rename(target)
    return target
