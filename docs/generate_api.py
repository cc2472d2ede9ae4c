"""Write the API reference from the docstrings: ``python -m docs.generate_api``.

It reads the code without running it, so it takes a second where importing the CDK takes several.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import griffe

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "api"
PACKAGES = {"decision_endpoints": "constructs", "decision_client": "client"}

_LONGEST_SIGNATURE = 100
# Python gives these two itself.
_NOT_GIVEN = ("self", "cls")


def reference(package: str) -> str:
    """The page of one package: every public name, in alphabetical order."""
    module = griffe.load(
        package,
        search_paths=[ROOT / source_root for source_root in PACKAGES.values()],
        docstring_parser="numpy",
        # Types stand in the signature; the arguments of a class's factories, which share them, with the class.
        docstring_options={"warn_missing_types": False, "warn_unknown_params": False},
        allow_inspection=False,
    )
    lines = [f"# `{package}`", "", "Written from the docstrings by `make api`; what to change is there."]
    for name in sorted(module.exports or (), key=lambda export: str(export).casefold()):
        lines += ["", *_entry(str(name), module[str(name)])]
    return "\n".join(lines) + "\n"


def _entry(name: str, found: griffe.Object | griffe.Alias) -> Iterator[str]:
    yield f"## {name}"
    target = found.final_target if isinstance(found, griffe.Alias) else found
    if isinstance(target, griffe.Class):
        # A constructor that takes a private type is for the class's own factories.
        if not any(str(parameter.annotation).startswith("_") for parameter in target.parameters):
            yield from ("", *_code(_signature(name, target.parameters)))
        yield from _documentation(target)
        for member_name, member in sorted(target.all_members.items()):
            if not member_name.startswith("_"):
                yield from _member(f"{name}.{member_name}", member)
    elif isinstance(target, griffe.Attribute | griffe.TypeAlias):
        if target.value is not None and len(str(target.value)) <= _LONGEST_SIGNATURE:
            yield from ("", *_code(f"{name} = {_source(target.value)}"))
        yield from _documentation(target)


def _member(name: str, found: griffe.Object | griffe.Alias) -> Iterator[str]:
    """A method or a property; plain attributes are described with their class."""
    target = found.final_target if isinstance(found, griffe.Alias) else found
    short = name.rpartition(".")[2]
    if isinstance(target, griffe.Function):
        yield from ("", f"### {name}", "", *_code(_signature(short, target.parameters, target.returns)))
        yield from _documentation(target)
    elif isinstance(target, griffe.Attribute) and "property" in target.labels:
        yield from ("", f"### {name}", "", *_code(f"{short}: {_source(target.annotation)}"))
        yield from _documentation(target)


def _code(text: str) -> list[str]:
    return ["```python", text, "```"]


def _source(expression: object) -> str:
    """An expression as the formatter writes it, which looks into these pages too."""
    return str(expression).replace("'", '"')


def _signature(name: str, parameters: griffe.Parameters, returns: str | griffe.Expr | None = None) -> str:
    parts = []
    starred = False
    for parameter in parameters:
        if parameter.name in _NOT_GIVEN:
            continue
        if parameter.kind is griffe.ParameterKind.keyword_only and not starred:
            parts.append("*")
            starred = True
        star = "*" if parameter.kind is griffe.ParameterKind.var_positional else ""
        starred = starred or bool(star)
        default = "" if parameter.default is None or star else f" = {_source(parameter.default)}"
        parts.append(f"{star}{parameter.name}: {_source(parameter.annotation)}{default}")
    end = f") -> {_source(returns)}" if returns is not None else ")"
    line = f"{name}({', '.join(parts)}{end}"
    if len(line) <= _LONGEST_SIGNATURE:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), end])


def _documentation(described: griffe.Object) -> Iterator[str]:
    if described.docstring is None:
        return
    for section in described.docstring.parsed:
        match section:
            case griffe.DocstringSectionText():
                yield from ("", section.value)
            case griffe.DocstringSectionExamples():
                yield from ("", "Examples:", *_examples(section))
            case (
                griffe.DocstringSectionParameters()
                | griffe.DocstringSectionAttributes()
                | griffe.DocstringSectionRaises()
                | griffe.DocstringSectionReturns()
            ):
                yield from ("", f"{section.kind.value.capitalize()}:", "", *_elements(section))
            case _:
                raise ValueError(f"{described.path}: a section {section.kind.value} is not known here: add it")


def _elements(
    section: griffe.DocstringSectionParameters
    | griffe.DocstringSectionAttributes
    | griffe.DocstringSectionRaises
    | griffe.DocstringSectionReturns,
) -> Iterator[str]:
    together: dict[str, list[str]] = {}
    for element in section.value:
        name = getattr(element, "name", "") or str(element.annotation)
        together.setdefault(element.description, []).append(f"`{name.replace(', ', '`, `')}`")
    # What is described together comes several times, once for each name.
    for description, names in together.items():
        yield f"- {', '.join(names)}: {' '.join(description.split())}"


def _examples(section: griffe.DocstringSectionExamples) -> Iterator[str]:
    for kind, text in section.value:
        yield from ("", *(_code(text) if kind is griffe.DocstringSectionKind.examples else (text,)))


def main() -> None:
    """Write the pages anew."""
    FOLDER.mkdir(exist_ok=True)
    for package in PACKAGES:
        (FOLDER / f"{package}.md").write_text(reference(package))


if __name__ == "__main__":
    main()
