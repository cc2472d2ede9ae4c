from __future__ import annotations

from pathlib import Path

import pytest

from decision_adapter.settings import Settings, SettingsRefused


def test_an_empty_environment_gives_the_containers_defaults() -> None:
    settings = Settings.from_environment({})

    assert (settings.model_dir, settings.engine_dir) == (Path("/opt/ml/model"), Path("/opt/llama.cpp/bin"))
    assert (settings.host, settings.port) == ("0.0.0.0", 8080)
    assert settings.deadline_seconds == 50


def test_every_documented_variable_is_read() -> None:
    settings = Settings.from_environment(
        {
            "DECISION_MODEL_DIR": "/m",
            "DECISION_MODEL_SHA256": "AB" * 32,
            "DECISION_MODEL_NAME": "qwen",
            "DECISION_THREADS": "8",
            "DECISION_CONTEXT_TOKENS": "8192",
            "DECISION_PREFIXES": "4",
            "DECISION_GPU_LAYERS": "99",
            "DECISION_ENGINE_DIR": "/e",
            "DECISION_PROFILE": "/p.yaml",
            "DECISION_DEADLINE_SECONDS": "20",
            "DECISION_MAX_DECISIONS": "8",
            "DECISION_MAX_OPTIONS": "16",
            "DECISION_TEMPERATURE_CHOICE": "1.5",
            "DECISION_TEMPERATURE_SCORE": "2",
            "DECISION_TEMPERATURE_NOUL": "0.75",
            "DECISION_API_KEY": "k3y",
            "DECISION_HOST": "127.0.0.1",
            "SAGEMAKER_BIND_TO_PORT": "0",
        }
    )

    assert settings == Settings(
        model_dir=Path("/m"),
        model_sha256="ab" * 32,
        model_name="qwen",
        threads=8,
        context_tokens=8192,
        prefixes=4,
        gpu_layers=99,
        engine_dir=Path("/e"),
        profile=Path("/p.yaml"),
        deadline_seconds=20,
        max_decisions=8,
        max_options=16,
        temperature_choice=1.5,
        temperature_score=2.0,
        temperature_noul=0.75,
        api_key="k3y",
        host="127.0.0.1",
        port=0,
    )


def test_other_peoples_variables_are_left_alone() -> None:
    assert Settings.from_environment({"PATH": "/bin", "SAGEMAKER_REGION": "x"}) == Settings()


@pytest.mark.parametrize(
    ("misspelt", "right"),
    [
        ("DECISION_THREAD", "DECISION_THREADS"),
        ("DECISION_MODEL_SHA", "DECISION_MODEL_SHA256"),
        ("DECISION_MAX_OPTION", "DECISION_MAX_OPTIONS"),
        ("DECISION_GPU_LAYER", "DECISION_GPU_LAYERS"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_right_one(misspelt: str, right: str) -> None:
    with pytest.raises(SettingsRefused, match=rf"{misspelt} is no setting; did you mean {right}\?"):
        Settings.from_environment({misspelt: "1"})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DECISION_THREADS", "0"),
        ("DECISION_THREADS", "-1"),
        ("DECISION_THREADS", "8 "),
        ("DECISION_THREADS", "1_0"),
        ("DECISION_THREADS", "٣"),
        ("DECISION_THREADS", "99999999999"),
        ("DECISION_CONTEXT_TOKENS", "1e3"),
        ("DECISION_DEADLINE_SECONDS", "60"),
        ("DECISION_MAX_OPTIONS", "256"),
        ("DECISION_MAX_OPTIONS", "1"),
        ("SAGEMAKER_BIND_TO_PORT", "65536"),
    ],
)
def test_a_number_out_of_range_is_refused_with_the_range(variable: str, value: str) -> None:
    with pytest.raises(SettingsRefused, match=rf"{variable} is .*give a whole number.* from [0-9]+ to [0-9]+"):
        Settings.from_environment({variable: value})


@pytest.mark.parametrize("variable", ["DECISION_MODEL_DIR", "DECISION_MODEL_NAME", "DECISION_HOST", "DECISION_PROFILE"])
def test_an_empty_value_is_refused(variable: str) -> None:
    with pytest.raises(SettingsRefused, match=f"{variable} is ''"):
        Settings.from_environment({variable: ""})


def test_a_digest_of_63_digits_is_refused_in_words() -> None:
    with pytest.raises(SettingsRefused, match=r"DECISION_MODEL_SHA256 is .*64 hexadecimal digits"):
        Settings.from_environment({"DECISION_MODEL_SHA256": "a" * 63})


def test_all_problems_come_in_one_error() -> None:
    with pytest.raises(SettingsRefused) as refused:
        Settings.from_environment({"DECISION_THREADS": "x", "DECISION_PREFIX": "2", "DECISION_MAX_DECISIONS": "0"})

    assert len(str(refused.value).splitlines()) == 3


@pytest.mark.parametrize("kind", ["CHOICE", "SCORE", "NOUL"])
@pytest.mark.parametrize(
    "value", ["0", "0.0", "-1", "nan", "NaN", "inf", "Infinity", "1e999", "1e-999", "warm", "", " 1", "1_0", "\u0663"]
)
def test_a_temperature_that_is_no_number_above_0_is_refused(kind: str, value: str) -> None:
    with pytest.raises(SettingsRefused, match=f"DECISION_TEMPERATURE_{kind} is .*give a number above 0"):
        Settings.from_environment({f"DECISION_TEMPERATURE_{kind}": value})


@pytest.mark.parametrize("key", ["", "two words", "s\u00e9same", "line\n"])
def test_a_key_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(SettingsRefused, match="DECISION_API_KEY is not usable: give visible ASCII") as refusal:
        Settings.from_environment({"DECISION_API_KEY": key})

    assert not key or key not in str(refusal.value)


def test_settings_do_not_show_the_key() -> None:
    assert "sesame" not in repr(Settings(api_key="sesame"))
