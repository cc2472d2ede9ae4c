"""Answers as a person reads them: a table for each decision, then the model that answered and what it cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from decision_client.answers import Answer, Answers, ChoiceAnswer, NoulAnswer, ScoreAnswer, answers_from
from decision_client.reading import read_document
from decision_client.results import BatchTiming, DecisionResult, batch_from, result_from

_BAR_CELLS = 24
_STATE_CHARACTERS = 400
_EIGHTHS = " ▏▎▍▌▋▊▉"


def show_answer(console: Console, request: bytes, answer: bytes, round_trip_seconds: float) -> None:
    """Print an answer's body, of either shape; the request's body gives the questions.

    Raises
    ------
    NotAnAnswer
        If the body is not the answer of a decision endpoint.
    """
    asked = _object(request)
    questions = _questions(asked)
    document = read_document(answer)
    if document.get("answers"):
        answered = answers_from(answer)
        _show_state(console, asked)
        _show_answers(console, answered, questions, round_trip_seconds)
    elif document.get("results"):
        batch = batch_from(answer)
        _show_state(console, asked)
        _show_results(console, batch.results, batch.timing, questions, round_trip_seconds)
    else:
        result = result_from(answer)
        _show_state(console, asked)
        _show_results(console, [result], None, questions, round_trip_seconds)


def bar(share: float, cells: int = _BAR_CELLS) -> str:
    """A bar for a share of 0 to 1, to an eighth of a cell.

    Examples
    --------
    >>> bar(0.5, cells=4), bar(0.03125, cells=4)
    ('██', '▏')
    """
    eighths = round(max(0.0, min(1.0, share)) * cells * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _show_results(
    console: Console,
    results: Sequence[DecisionResult],
    timing: BatchTiming | None,
    questions: dict[str, str],
    round_trip_seconds: float,
) -> None:
    for result in results:
        rows = ((name, p, name == result.choice) for name, p in result.probabilities.items())
        console.print(_decision(result.id, questions.get(result.id), "option", rows))
    if not results:
        return
    first = results[0]
    tokens = ", ".join(str(result.input_tokens) for result in results)
    if timing:
        tokens += f" in the prompts, {timing.prefix_tokens} of each are the shared state"
    console.print(
        _origin(
            {
                "model": first.model.file,
                "digest": f"sha256:{first.model.sha256}",
                "tokens": tokens,
                "time": _time(timing.total_seconds if timing else first.seconds, round_trip_seconds),
                "note": f"probabilities are {first.probability_status}",
            }
        )
    )


def _show_answers(console: Console, answers: Answers, questions: dict[str, str], round_trip_seconds: float) -> None:
    for name, answer in answers.items():
        console.print(_decision(name, questions.get(name), *_rows(answer)))
    facts = {"model": answers.model, "tokens": str(answers.input_tokens)}
    origin = answers.provenance
    if origin:
        statuses = {each.probability_status: None for each in origin.answers.values()}
        tokens = f"{answers.input_tokens}, {origin.prefix_tokens} of them the state's, {origin.cached_tokens} cached"
        facts = {
            "model": origin.model.file,
            "digest": f"sha256:{origin.model.sha256}",
            "tokens": tokens,
            "time": _time(origin.total_ms / 1000, round_trip_seconds),
            "note": f"probabilities are {' or '.join(statuses)}",
        }
    console.print(_origin(facts))


def _rows(answer: Answer) -> tuple[str, Iterable[tuple[str, float, bool]], str]:
    """What heads the first column, the rows (label, probability, whether it is chosen), and the sum of it."""
    match answer:
        case NoulAnswer():
            return "outcome", [("true", answer.noul, answer.noul >= 0.5), ("false", 1 - answer.noul, False)], ""
        case ChoiceAnswer():
            rows = [(name, p, name == answer.choice) for name, p in answer.probabilities.items()]
            return "option", rows, f"confidence {answer.confidence:.2f}"
        case ScoreAnswer():
            most = max(answer.probabilities)
            levels = zip(answer.legend, answer.probabilities, strict=True)
            rows = [(f"{n}  {_text(level)}", p, p == most) for n, (level, p) in enumerate(levels)]
            return "level", rows, f"score {answer.score:.2f}, confidence {answer.confidence:.2f}"


def _decision(
    name: str, question: str | None, column: str, rows: Iterable[tuple[str, float, bool]], summary: str = ""
) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(column, overflow="fold")
    table.add_column("probability", justify="right")
    table.add_column("", min_width=_BAR_CELLS, no_wrap=True)
    for label, probability, chosen in rows:
        table.add_row(
            escape(_text(label)), f"{probability:.4f}", bar(probability), style="bold green" if chosen else ""
        )
    heading = Text(_text(name), style="bold")
    if question:
        heading.append(f"  {question}", style="not bold")
    return Group(heading, table, *([Text(summary, style="dim")] if summary else []), Text())


def _origin(facts: dict[str, str]) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, fact in facts.items():
        grid.add_row(name, escape(fact))
    return Group(grid, Text())


def _time(seconds: float, round_trip_seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms in the endpoint, {round_trip_seconds * 1000:.0f} ms round trip"


def _show_state(console: Console, asked: dict[str, Any]) -> None:
    """Print the beginning of the state that was asked about; nothing where the request has another shape."""
    try:
        about = asked if "questions" in asked else _decisions(asked)[0]
        text = _text(about["state"])
    except (TypeError, KeyError, IndexError):
        return
    console.print(Text.assemble(("state  ", "dim"), text), Text(), sep="\n")


def _questions(asked: dict[str, Any]) -> dict[str, str]:
    """The questions by their names, only for display: a request of another shape has none."""
    try:
        if "questions" in asked:
            return {
                name: _text(question["instructions"])
                for name, question in asked["questions"].items()
                if question.get("instructions")
            }
        return {str(decision["id"]): str(decision["question"]) for decision in _decisions(asked)}
    except (TypeError, KeyError, AttributeError):
        return {}


def _decisions(asked: dict[str, Any]) -> list[dict[str, Any]]:
    return list(asked["decisions"]) if "decisions" in asked else [asked["decision"]]


def _text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # A lone surrogate, which JSON can hold, no terminal can show.
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= _STATE_CHARACTERS else f"{text[:_STATE_CHARACTERS]} …"


def _object(request: bytes) -> dict[str, Any]:
    try:
        document = json.loads(request)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
