"""Reading a YAML file that a person wrote: nothing is guessed, and nothing said twice is passed over."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml


class _StrictLoader(yaml.SafeLoader):
    """YAML lets a key come twice and the last one win: a setting that is silently not the one you read first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: dict[object, yaml.Node] = {}
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is not text: put it in quotes", key_node.start_mark
                )
            if key in seen:
                first = seen[key].start_mark.line + 1
                raise yaml.constructor.ConstructorError(
                    None,
                    None,
                    f"the key {key} is here a second time, first in line {first}: keep one",
                    key_node.start_mark,
                )
            seen[key] = key_node
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """For what looks like a number or a date and is none, PyYAML has an error of Python's own, without a place."""
        try:
            return super().construct_object(node, deep)
        except (KeyError, ValueError) as error:
            kind = node.tag.rpartition(":")[2]
            raise yaml.constructor.ConstructorError(
                None, None, f"{node.value!r:.40} cannot be read as {kind}: put it in quotes", node.start_mark
            ) from error


def read_yaml(path: Path) -> object:
    """The document in `path`.

    Raises
    ------
    ValueError
        If it is not one YAML document in UTF-8, or a key comes twice; the sentence names the line.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)  # noqa: S506  (a SafeLoader)
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8: save the file as UTF-8") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(f"{where}{error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ValueError(f"this is not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise ValueError("it nests deeper than any settings: look for brackets that are not closed") from error
