"""What is asked: the same bodies, of the System One shape, for everyone. A number gives the same texts anywhere."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SUBJECTS = (
    "order",
    "invoice",
    "shipment",
    "refund",
    "login",
    "router",
    "subscription",
    "account",
    "device",
    "payment",
)
_EVENTS = (
    "was delayed",
    "was charged twice",
    "is missing",
    "failed again",
    "shows an error",
    "was cancelled",
    "cannot be opened",
    "arrived damaged",
)
_GROUPS = (
    "billing team",
    "shipping team",
    "technical support",
    "account security",
    "sales desk",
    "legal department",
    "quality office",
    "escalations",
)
# They differ from the first word on: a question whose beginning others share is cheaper for some of the contestants.
_ASKING = (
    "Given all of this, which group should follow up on the {subject} that {event}?",
    "Who owns the next step, now that the {subject} {event}, by what was written above?",
    "The {subject} {event}: whom would you hand the whole case to after reading its history?",
    "After these entries, where does a complaint that the {subject} {event} belong?",
    "To close the case of a {subject} that {event}, which of these has to act first?",
    "Which one is to call the customer whose {subject} {event}, considering what is known so far?",
    "If the {subject} {event} once more tomorrow, who would have to be told about it?",
    "Somebody must answer for it that the {subject} {event}: who is it in this history?",
)
_OPTIONS = 4

# About 30 tokens each of SmolLM2's.
_LINES_OF_SHORT_STATE = 3
_LINES_OF_LONG_STATE = 56
_LINES_OF_SHARED_STATE = 10

_ONE_AFTER_THE_OTHER = 10
_CLIENTS = 8
_REQUESTS_OF_A_CLIENT = 3


@dataclass(frozen=True)
class Part:
    """Requests that are measured together, and by how many clients they are sent."""

    name: str
    bodies: tuple[bytes, ...]
    clients: int = 1

    @property
    def decisions(self) -> int:
        """How many are asked in all."""
        return sum(len(json.loads(body)["questions"]) for body in self.bodies)


@dataclass(frozen=True)
class Workload:
    """One or more parts, sent one after the other to the same contestant; `parts_of` makes those of a round."""

    name: str
    parts_of: Callable[[int], tuple[Part, ...]]


SHORT = "1 short decision"
NEW = "16 questions, new state of 1,500 tokens"
REPEATED = "16 other questions, same state"
CLIENTS = "8 clients, short states"
SHARED = "64 decisions, one state"
TASKS = "JevBench tasks, one by one"


def workloads(tasks: Path | None) -> list[Workload]:
    """All of them; the tasks only if their folder is given."""
    found = [
        Workload("short", _short),
        Workload("sixteen", _sixteen),
        Workload("clients", _eight_clients),
        Workload("shared", _shared),
    ]
    if tasks is not None:
        bodies = read_tasks(tasks)
        found.append(Workload("tasks", lambda number: (Part(f"{len(bodies)} {TASKS}", bodies),)))
    return found


def read_tasks(folder: Path) -> tuple[bytes, ...]:
    """The bodies of every task of a folder's ``*.jsonl``: each line has a `state` and a `question`."""
    tasks = [
        json.loads(line)
        for file in sorted(folder.glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    if not tasks:
        raise ValueError(f"{folder} holds no tasks: give a folder with .jsonl files, one task a line")
    return tuple(_body(task["state"], {"task": task["question"]}) for task in tasks)


def _short(number: int) -> tuple[Part, ...]:
    texts = random.Random(f"short {number}")  # noqa: S311  texts, not secrets
    bodies = (_asked(texts, _LINES_OF_SHORT_STATE, 1) for _ in range(_ONE_AFTER_THE_OTHER))
    return (Part(SHORT, tuple(bodies)),)


def _sixteen(number: int) -> tuple[Part, ...]:
    texts = random.Random(f"sixteen {number}")  # noqa: S311
    state = _state(texts, _LINES_OF_LONG_STATE)
    new, repeated = (_body(state, _questions(texts, 16)) for _ in range(2))
    return Part(NEW, (new,)), Part(REPEATED, (repeated,))


def _eight_clients(number: int) -> tuple[Part, ...]:
    texts = random.Random(f"clients {number}")  # noqa: S311
    bodies = (_asked(texts, _LINES_OF_SHORT_STATE, 1) for _ in range(_CLIENTS * _REQUESTS_OF_A_CLIENT))
    return (Part(CLIENTS, tuple(bodies), clients=_CLIENTS),)


def _shared(number: int) -> tuple[Part, ...]:
    return (Part(SHARED, (_asked(random.Random(f"shared {number}"), _LINES_OF_SHARED_STATE, 64),)),)  # noqa: S311


def _asked(texts: random.Random, lines: int, questions: int) -> bytes:
    return _body(_state(texts, lines), _questions(texts, questions))


def _state(texts: random.Random, lines: int) -> str:
    return "\n".join(
        f"[{number:03d}] Customer says the {texts.choice(_SUBJECTS)} {texts.choice(_EVENTS)} on day "
        f"{texts.randint(1, 28)}; agent noted code {texts.randint(100, 999)}."
        for number in range(lines)
    )


def _questions(texts: random.Random, count: int) -> dict[str, Any]:
    return {f"q{number}": _question(texts) for number in range(count)}


def _question(texts: random.Random) -> dict[str, Any]:
    asking = texts.choice(_ASKING).format(subject=texts.choice(_SUBJECTS), event=texts.choice(_EVENTS))
    groups: Sequence[str] = texts.sample(_GROUPS, _OPTIONS)
    return {"type": "choice", "instructions": asking, "criteria": dict.fromkeys(groups)}


def _body(state: Any, questions: dict[str, Any]) -> bytes:
    return json.dumps({"model": "bench", "state": state, "questions": questions}).encode()
