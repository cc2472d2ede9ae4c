"""Steps as they go: a spinner with the latest news on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

# On a terminal each piece of news replaces the last; a log file must not fill with them.
_SECONDS_BETWEEN_LINES = 2.0
_SPINNER_CELLS = 8
_SECONDS_BETWEEN_SIGNS_OF_LIFE = 10.0


@contextmanager
def step(
    console: Console, title: str, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[str], None]]:
    """Show that something goes on, and how long it took. Yields what shows its latest news."""
    started = clock()
    last_line = started
    if console.is_terminal:
        with console.status(f"{escape(title)} …") as status:
            # One line: a spinner whose text wraps flickers.
            room = max(0, console.width - len(title) - _SPINNER_CELLS)
            yield lambda news: status.update(f"{escape(title)} … [dim]{escape(news[:room])}[/dim]")
    else:
        console.print(f"{title} …", markup=False, highlight=False)

        def show_line(news: str) -> None:
            nonlocal last_line
            if clock() - last_line >= _SECONDS_BETWEEN_LINES:
                last_line = clock()
                console.print(f"  {news}", markup=False, highlight=False, soft_wrap=True)

        with _signs_of_life(console, started, clock):
            yield show_line
    console.print(f"[green]✓[/green] {escape(title)} [dim]({clock() - started:.1f} s)[/dim]", highlight=False)


@contextmanager
def _signs_of_life(console: Console, started: float, clock: Callable[[], float]) -> Iterator[None]:
    """A line now and then, for a log that nobody would otherwise know to be alive."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(_SECONDS_BETWEEN_SIGNS_OF_LIFE):
            console.print(f"  … {clock() - started:.0f} s", markup=False, highlight=False)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
