"""No template for AWS may hold a made-up id: ``python -m gate.placeholders FOLDER``.

One that slips through synth deploys to somebody else's account or fails an hour into a deploy.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from .assembly import Template, local_environments, read_templates
from .refused import report

_PLACEHOLDERS = {
    "an account id of AWS's own examples": re.compile(
        r"(?<![0-9])(123456789012|012345678901|123456781234|111122223333|444455556666|777788889999|([0-9])\2{11})(?![0-9])"
    ),
    "a domain of examples": re.compile(r"\bexample\.(com|org|net)\b", re.IGNORECASE),
    "an id of no resource": re.compile(
        r"\b(vpc|subnet|sg|igw|rtb|eni|ami)-(?:0?12345[0-9a-f]*|([0-9a-fx])\2{3,})\b", re.IGNORECASE
    ),
    "a digest that repeats itself": re.compile(
        r"(?<![0-9a-f])(?=[0-9a-f]{40}(?:[0-9a-f]{24})?(?![0-9a-f]))([0-9a-f]{1,16})\1+(?![0-9a-f])"
    ),
    "a token that was not resolved": re.compile(r"\bTOKEN\[", re.IGNORECASE),
    "a word that asks to be replaced": re.compile(
        r"\b(CHANGE_?ME|REPLACE_?ME|FIX_?ME)\b|<(account|region)(-id)?>", re.IGNORECASE
    ),
}


def placeholders(templates: Sequence[Template]) -> list[str]:
    """A sentence for each made-up id: what it is, in which file, and where in it."""
    return [
        f"{template.path.name}: {'/'.join(where)} holds {found!r}, {kind}: give the real one"
        for template in templates
        for where, text in _texts(template.document, ())
        for kind, found in _made_up(text)
    ]


def _texts(value: object, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield where, key
            yield from _texts(item, (*where, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*where, str(index)))
    else:
        yield where, str(value)


def _made_up(text: str) -> Iterator[tuple[str, str]]:
    for kind, pattern in _PLACEHOLDERS.items():
        for match in pattern.finditer(text):
            yield kind, match.group()


def main(arguments: list[str]) -> int:
    """Look through the synthesized folder that is named; the local cloud's environments may have a made-up account."""
    local = local_environments(Path.cwd())
    templates = [template for template in read_templates(Path(arguments[0])) if template.environment not in local]
    return report(placeholders(templates), passed=f"No made-up id in {len(templates)} templates for AWS.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
