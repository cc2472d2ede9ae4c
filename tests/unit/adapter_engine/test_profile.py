"""The prompt's words come from a file if the user brings one, and a wrong file is refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from decision_adapter.errors import ModelRefused
from decision_adapter.profile import DEFAULT_PROFILE, load_profile

WORDS = {
    "name": "mine",
    "version": "7",
    "system": "",
    "user": "{{note}} {state} | {question} | {options} {{end}}",
    "option": "{letter}) {description} [{id}]",
    "bare_option": "{letter}) {id}",
}


@pytest.fixture
def write(tmp_path: Path) -> object:
    def write_profile(**changes: object) -> Path:
        path = tmp_path / "profile.json"
        path.write_text(json.dumps({key: value for key, value in (WORDS | changes).items() if value is not None}))
        return path

    return write_profile


def test_without_a_file_the_built_in_words_are_used() -> None:
    assert load_profile(None) is DEFAULT_PROFILE


def test_the_built_in_profile_would_pass_its_own_check(tmp_path: Path) -> None:
    path = tmp_path / "default.json"
    path.write_text(json.dumps(msgspec.to_builtins(DEFAULT_PROFILE)))

    assert load_profile(path) == DEFAULT_PROFILE


def test_a_file_brings_other_words(write) -> None:  # type: ignore[no-untyped-def]
    profile = load_profile(write())

    assert (profile.name, profile.version) == ("mine", "7")
    assert profile.prefix_text("S") + profile.suffix_text("Q", "O") == "{note} S | Q | O {end}"
    assert profile.option_text("A", "yes", "Agree.") == "A) Agree. [yes]"
    assert profile.option_text("B", "no", "") == "B) no"


def test_braces_and_placeholders_in_a_callers_text_stay_text(write) -> None:  # type: ignore[no-untyped-def]
    profile = load_profile(write())

    assert profile.suffix_text("{options} {0} {{", "{state}") == " | {options} {0} {{ | {state} {end}"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"user": "{question} {state} {options}"}, "before"),
        ({"user": "{state} {question}"}, "it takes {state}, {question}, {options}, each once"),
        ({"user": "{state} {state} {question} {options}"}, "each once"),
        ({"user": "{state.__class__} {question} {options}"}, "it takes"),
        ({"user": "{state!r} {question} {options}"}, "without a format"),
        ({"user": "{state:>9} {question} {options}"}, "without a format"),
        ({"user": "{state} {question} {options"}, "write {{ and }} for braces"),
        ({"option": "{id}: {description}"}, "option has the placeholders"),
        ({"bare_option": "{letter} {description}"}, "bare_option has the placeholders"),
        ({"user_codes": "{question} {state} {options}"}, "user_codes must have {state} before"),
        ({"user_codes": "{state} {question}"}, "user_codes has the placeholders"),
        ({"user_codes": "{state} {question} {options}"}, "user_codes must be the same as user up to {state}"),
        ({"name": " "}, "name is empty"),
        ({"version": 7}, "Expected `str`, got `int` - at `$.version`"),
        ({"sytem": "x"}, "unknown field `sytem`"),
        ({"system": None}, "missing required field `system`"),
    ],
)
def test_a_wrong_profile_is_refused_with_what_is_wrong(write, changes: dict[str, object], reason: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ModelRefused) as refusal:
        load_profile(write(**changes))

    assert reason in str(refusal.value)
    assert "profile.json" in str(refusal.value)


def test_options_called_by_codes_are_asked_for_in_their_own_words(write) -> None:  # type: ignore[no-untyped-def]
    profile = load_profile(write(user_codes="{{note}} {state} {options} ({question})"))

    assert profile.suffix_text("Q", "O", codes=True) == " O (Q)"
    assert profile.suffix_text("Q", "O") == " | Q | O {end}"


def test_a_profile_without_words_for_codes_asks_as_ever(write) -> None:  # type: ignore[no-untyped-def]
    profile = load_profile(write())

    assert profile.suffix_text("Q", "O", codes=True) == profile.suffix_text("Q", "O")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[" * 100_000, b"null"])
def test_a_file_that_is_no_json_object_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "profile.json"
    path.write_bytes(content)

    with pytest.raises(ModelRefused, match="is no profile"):
        load_profile(path)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match=r"mine\.json cannot be read: No such file"):
        load_profile(tmp_path / "mine.json")
