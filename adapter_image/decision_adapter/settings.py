"""What the container's environment may say, checked once, before anything starts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from decision_adapter.calibration import is_temperature
from decision_adapter.decision import MAX_OPTIONS
from decision_provenance.digest import parse_sha256

# SageMaker ends an invocation after 60 s; an answer that arrives later reaches nobody.
INVOCATION_LIMIT_SECONDS = 60

PREFIX = "DECISION_"


class SettingsRefused(ValueError):
    """The environment cannot be used; the text holds every problem, one a line, and what to write instead."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The adapter's settings; `from_environment` is how the container gets them.

    Parameters
    ----------
    model_dir:
        `DECISION_MODEL_DIR`, the folder with exactly one model. Default: /opt/ml/model, where SageMaker lays it.
    model_sha256:
        `DECISION_MODEL_SHA256`, the package digest the model must have, 64 hexadecimal digits. Default: any is served.
    model_name:
        `DECISION_MODEL_NAME`, the name in answers and log lines. Default: the stem of the model's file.
    threads:
        `DECISION_THREADS`, 1–1024. Default: what affinity and the container's CPU quota allow.
    context_tokens:
        `DECISION_CONTEXT_TOKENS`, the limit of one prompt, 64–1048576 tokens. Default: 4096.
    prefixes:
        `DECISION_PREFIXES`, evaluated states kept for reuse, 1–64. Default: 2.
    gpu_layers:
        `DECISION_GPU_LAYERS`, layers to offload, 0–10000. Default: 0, all on the CPU.
    engine_dir:
        `DECISION_ENGINE_DIR`, the folder of libllama. Default: /opt/llama.cpp/bin, its place in the AWS image.
    profile:
        `DECISION_PROFILE`, a file with the prompt's words. Default: the built-in profile.
    deadline_seconds:
        `DECISION_DEADLINE_SECONDS`, how long after its arrival a request may be answered, 1–59. Default: 50, below
        SageMaker's 60.
    max_decisions:
        `DECISION_MAX_DECISIONS` of one request, 1–1024. Default: 64.
    max_options:
        `DECISION_MAX_OPTIONS` of one decision, 2–255; a model's vocabulary may have slots for fewer, and the SemIf
        contract takes at most 26. Default: 255.
    temperature_choice, temperature_score, temperature_noul:
        `DECISION_TEMPERATURE_CHOICE`, `…_SCORE`, `…_NOUL`, numbers above 0 that the logits of such questions are
        divided by. Default: those of the package's manifest, else 1.
    api_key:
        `DECISION_API_KEY`, the key that every request but `/ping` must bring as `Authorization: Bearer …`; visible
        ASCII without blanks. SageMaker passes no such header on: leave it out there. Default: none is asked for.
    host:
        `DECISION_HOST`, the address to listen on. Default: 0.0.0.0.
    port:
        `SAGEMAKER_BIND_TO_PORT`, 0–65535; 0 takes a free one, which the `listening` log line tells. Default: 8080.

    Examples
    --------
    >>> Settings.from_environment({"DECISION_THREADS": "8"}).threads
    8
    >>> Settings.from_environment({"DECISION_THREAD": "8"})
    Traceback (most recent call last):
    ...
    decision_adapter.settings.SettingsRefused: DECISION_THREAD is no setting; did you mean DECISION_THREADS?

    Source: Amazon SageMaker AI developer guide, "Custom Inference Code with Hosting Services" (port, folder, 60 s).
    """

    model_dir: Path = Path("/opt/ml/model")
    model_sha256: str | None = None
    model_name: str | None = None
    threads: int | None = None
    context_tokens: int = 4096
    prefixes: int = 2
    gpu_layers: int = 0
    engine_dir: Path = Path("/opt/llama.cpp/bin")
    profile: Path | None = None
    deadline_seconds: int = 50
    max_decisions: int = 64
    max_options: int = MAX_OPTIONS
    temperature_choice: float | None = None
    temperature_score: float | None = None
    temperature_noul: float | None = None
    api_key: str | None = field(default=None, repr=False)
    host: str = "0.0.0.0"  # noqa: S104  SageMaker reaches the container from outside it
    port: int = 8080

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Read the settings; an empty value is refused, an absent one is the default.

        Raises
        ------
        SettingsRefused
            For unknown `DECISION_…` names and for values outside their range, all at once.
        """
        problems: list[str] = []
        values: dict[str, object] = {}
        for variable, text in sorted(environment.items()):
            setting = _SETTINGS.get(variable)
            if setting is None:
                if variable.startswith(PREFIX):
                    problems.append(_unknown(variable))
                continue
            try:
                values[setting.field] = setting.parse(text)
            except ValueError as refusal:
                found = "not usable" if setting.secret else repr(text)
                problems.append(f"{variable} is {found}: {refusal}")
        if problems:
            raise SettingsRefused("\n".join(problems))
        return cls(**values)  # type: ignore[arg-type]  # each parser returns its field's type


def _unknown(variable: str) -> str:
    nearest = difflib.get_close_matches(variable, _SETTINGS, n=1, cutoff=0.0)[0]
    return f"{variable} is no setting; did you mean {nearest}?"


@dataclass(frozen=True)
class _Setting:
    field: str
    parse: Callable[[str], object]
    secret: bool = False


def _whole(lowest: int, highest: int, *, unit: str = "") -> Callable[[str], int]:
    allowed = f"give a whole number{unit and f' of {unit}'} from {lowest} to {highest}"

    def parse(text: str) -> int:
        # int() would take "1_000", " 8 " and digits of other scripts, which nobody means.
        if re.fullmatch(r"[0-9]{1,9}", text) is None or not lowest <= int(text) <= highest:
            raise ValueError(allowed)
        return int(text)

    return parse


def _text(text: str) -> str:
    if not text or text != text.strip() or not text.isprintable():
        raise ValueError("give a name without blanks around it, or leave the variable out")
    return text


def _temperature(text: str) -> float:
    # float() would take "nan", "inf", "1_0" and digits of other scripts.
    plain = re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) is not None
    if not plain or not is_temperature(float(text)):
        raise ValueError("give a number above 0, such as 1.25, or leave the variable out")
    return float(text)


def _key(text: str) -> str:
    # What a header can carry, and what no client would trim.
    if re.fullmatch(r"[!-~]+", text) is None:
        raise ValueError("give visible ASCII characters without blanks, or leave the variable out")
    return text


def _path(text: str) -> Path:
    if not text or "\0" in text:
        raise ValueError("give a path, or leave the variable out")
    return Path(text)


def _sha256(text: str) -> str:
    try:
        return parse_sha256(text)
    except ValueError:
        raise ValueError("give the package digest, 64 hexadecimal digits as `sha256sum` prints them") from None


_SETTINGS: dict[str, _Setting] = {
    "DECISION_MODEL_DIR": _Setting("model_dir", _path),
    "DECISION_MODEL_SHA256": _Setting("model_sha256", _sha256),
    "DECISION_MODEL_NAME": _Setting("model_name", _text),
    "DECISION_THREADS": _Setting("threads", _whole(1, 1024)),
    "DECISION_CONTEXT_TOKENS": _Setting("context_tokens", _whole(64, 1 << 20, unit="tokens")),
    "DECISION_PREFIXES": _Setting("prefixes", _whole(1, 64)),
    "DECISION_GPU_LAYERS": _Setting("gpu_layers", _whole(0, 10_000, unit="layers")),
    "DECISION_ENGINE_DIR": _Setting("engine_dir", _path),
    "DECISION_PROFILE": _Setting("profile", _path),
    "DECISION_DEADLINE_SECONDS": _Setting("deadline_seconds", _whole(1, INVOCATION_LIMIT_SECONDS - 1, unit="seconds")),
    "DECISION_MAX_DECISIONS": _Setting("max_decisions", _whole(1, 1024)),
    "DECISION_MAX_OPTIONS": _Setting("max_options", _whole(2, MAX_OPTIONS)),
    "DECISION_TEMPERATURE_CHOICE": _Setting("temperature_choice", _temperature),
    "DECISION_TEMPERATURE_SCORE": _Setting("temperature_score", _temperature),
    "DECISION_TEMPERATURE_NOUL": _Setting("temperature_noul", _temperature),
    "DECISION_API_KEY": _Setting("api_key", _key, secret=True),
    "DECISION_HOST": _Setting("host", _text),
    "SAGEMAKER_BIND_TO_PORT": _Setting("port", _whole(0, 65535)),
}
