"""The picture of the results. It needs matplotlib, which only the benchmark installs."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot

from tests.bench.contestants import OURS, PEER, SAMPLE
from tests.bench.outcome import Results

mpl.use("Agg")

_COLORS = {OURS: "#0b6e4f", PEER: "#8d99ae", SAMPLE: "#d9ae61"}
_HEIGHT = 0.26


def draw(results: Results, path: Path, caption: str) -> None:
    """Decisions a second of everyone, llama-server's as 1, a group of bars for each workload."""
    parts = list(results.measured)
    figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.95 * len(parts)), layout="constrained")
    for number, name in enumerate((OURS, PEER, SAMPLE)):
        values = [
            results.speed_up(part, PEER) / (results.speed_up(part, name) if name != OURS else 1) for part in parts
        ]
        places = [index + (number - 1) * _HEIGHT for index in range(len(parts))]
        bars = axes.barh(places, values, _HEIGHT * 0.92, color=_COLORS[name], label=name)
        axes.bar_label(bars, [f"{value:.2f}×" for value in values], padding=3, fontsize=8)
    labels = [part if results.valid(part) else f"{part}\n(INVALID)" for part in parts]
    axes.set_yticks(range(len(parts)), labels)
    axes.invert_yaxis()
    axes.axvline(1, color="#555555", linewidth=0.8)
    axes.set_xlabel(f"decisions a second, {PEER} = 1 (longer is faster)")
    axes.set_title(caption, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.12)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
