"""How results are written down: Markdown for people, JSON for whoever wants to calculate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.figures import LEAST_ROUNDS, MOST_VARIATION, Target
from tests.bench.surroundings import RESULTS, as_list


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table; the first column is words, the others are numbers.

    >>> print("\\n".join(table(["what", "s"], [["a", "1.0"]])))
    | what | s |
    |---|---:|
    | a | 1.0 |
    """
    ruler = "|".join(["---", *["---:"] * (len(head) - 1)])
    return [f"| {' | '.join(head)} |", f"|{ruler}|", *(f"| {' | '.join(row)} |" for row in rows)]


def target_table(targets: Sequence[Target]) -> list[str]:
    """What was wanted, and what it is."""
    rows = [[each.name, each.wanted, f"{each.value:.3g}{each.unit}", each.verdict] for each in targets]
    return table(["target", "wanted", "measured", ""], rows)


def headline(targets: Sequence[Target]) -> str:
    """The run in one sentence."""
    count = {word: sum(each.verdict == word for each in targets) for word in ("met", "missed", "INVALID")}
    said = ", ".join(f"{number} {word}" for word, number in count.items() if number) or "none measured"
    invalid = (
        f" INVALID: a control lay more than {MOST_VARIATION:.0%} off its median, so the machine was busy with "
        f"something else, or there were fewer than {LEAST_ROUNDS} rounds; measure again."
        if count["INVALID"]
        else ""
    )
    return f"Targets: {said}.{invalid}"


def write(
    name: str, title: str, facts: Mapping[str, str], body: Sequence[str], measured: object, *, folder: Path = RESULTS
) -> Path:
    """Write ``<name>.md`` and ``<name>.json`` to the results' folder, and return the first."""
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / f"{name}.md"
    report.write_text("\n".join([f"# {title}", "", *as_list(dict(facts)), "", *body, ""]), encoding="utf-8")
    document = {"surroundings": dict(facts), "measured": measured}
    (folder / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return report
