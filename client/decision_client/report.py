"""Answers as a person reads them: a table for each decision, then the model that answered and what it cost."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from decision_client.results import BatchResult, BatchTiming, DecisionResult, batch_from, read_document, result_from

_BAR_CELLS = 24
_STATE_CHARACTERS = 400
_EIGHTHS = " ▏▎▍▌▋▊▉"


def show_answer(console: Console, request: bytes, answer: bytes, round_trip_seconds: float) -> None:
    """Print an answer's body; the request's body gives the questions.

    Raises
    ------
    NotAnAnswer
        If the body is not the answer of a decision endpoint.
    """
    state = _state(request)
    if state:
        console.print(Text.assemble(("state  ", "dim"), state), Text(), sep="\n")
    if "results" in read_document(answer):
        show_batch(console, batch_from(answer), _questions(request), round_trip_seconds)
    else:
        result = result_from(answer)
        _show(console, [result], None, _questions(request), round_trip_seconds)


def show_batch(console: Console, batch: BatchResult, questions: dict[str, str], round_trip_seconds: float) -> None:
    """Print the answers to decisions asked together; `questions` are by the id of their decision."""
    _show(console, batch.results, batch.timing, questions, round_trip_seconds)


def bar(share: float, cells: int = _BAR_CELLS) -> str:
    """A bar for a share of 0 to 1, to an eighth of a cell.

    Examples
    --------
    >>> bar(0.5, cells=4), bar(0.03125, cells=4)
    ('██', '▏')
    """
    eighths = round(max(0.0, min(1.0, share)) * cells * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _show(
    console: Console,
    results: Sequence[DecisionResult],
    timing: BatchTiming | None,
    questions: dict[str, str],
    round_trip_seconds: float,
) -> None:
    for result in results:
        console.print(_decision(result, questions.get(result.id)))
    if results:
        console.print(_origin(results, timing, round_trip_seconds))


def _decision(result: DecisionResult, question: str | None) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("option", overflow="fold")
    table.add_column("probability", justify="right")
    table.add_column("", min_width=_BAR_CELLS, no_wrap=True)
    for option_id, probability in result.probabilities.items():
        style = "bold green" if option_id == result.choice else ""
        table.add_row(escape(option_id), f"{probability:.4f}", bar(probability), style=style)
    heading = Text(result.id, style="bold")
    if question:
        heading.append(f"  {question}", style="not bold")
    return Group(heading, table, Text())


def _origin(results: Sequence[DecisionResult], timing: BatchTiming | None, round_trip_seconds: float) -> RenderableType:
    model = results[0].model
    seconds = timing.total_seconds if timing else results[0].seconds
    tokens = ", ".join(str(result.input_tokens) for result in results)
    if timing:
        tokens += f" in the prompts, {timing.prefix_tokens} of each are the shared state"
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    grid.add_row("model", escape(model.file))
    grid.add_row("digest", f"sha256:{escape(model.sha256)}")
    grid.add_row("tokens", tokens)
    grid.add_row("time", f"{seconds * 1000:.0f} ms in the endpoint, {round_trip_seconds * 1000:.0f} ms round trip")
    grid.add_row("note", f"probabilities are {escape(results[0].probability_status)}")
    return Group(grid, Text())


def _state(request: bytes) -> str:
    """The beginning of the state that was asked about; empty where the request has another shape."""
    try:
        document = json.loads(request)
        state = (document["decisions"][0] if "decisions" in document else document["decision"])["state"]
    except (ValueError, TypeError, KeyError, IndexError):
        return ""
    text = state if isinstance(state, str) else json.dumps(state, ensure_ascii=False)
    return text if len(text) <= _STATE_CHARACTERS else f"{text[:_STATE_CHARACTERS]} …"


def _questions(request: bytes) -> dict[str, str]:
    """The questions of a request that was answered; only for display, so a request of another shape has none."""
    try:
        document = json.loads(request)
        decisions = document["decisions"] if "decisions" in document else [document["decision"]]
        return {str(decision["id"]): str(decision["question"]) for decision in decisions}
    except (ValueError, TypeError, KeyError):
        return {}
