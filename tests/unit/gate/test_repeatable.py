"""Two synths of one tree are the same, or the gate says where they are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gate import repeatable
from gate.parts import all_parts

# What a stack does that walks over a set.
TAKES_A_SETS_ORDER = """
import json, pathlib, sys
names = {f"statement-{number}" for number in range(50)}
pathlib.Path(sys.argv[1], "devEndpoint.template.json").write_text(json.dumps(list(names), indent=1))
"""


def test_an_order_taken_from_a_set_is_found(tmp_path: Path) -> None:
    folders = []
    for part in all_parts():
        if "gate.synth" in part.command:
            folder = tmp_path / part.name
            folder.mkdir()
            command = [sys.executable, "-c", TAKES_A_SETS_ORDER, str(folder)]
            subprocess.run(command, env=dict(part.environment), check=True)
            folders.append(folder)

    (problem,) = repeatable.differences(*folders)

    assert problem.startswith('devEndpoint.template.json: not the same in a second synth: `"statement-')


def test_a_file_that_only_one_synth_wrote_is_found(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    (tmp_path / "first" / "asset.json").write_text("{}")

    assert repeatable.main([str(tmp_path / "first"), str(tmp_path / "second")]) == 1


def test_where_the_cdk_notes_its_own_call_stacks_may_differ(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "devEndpoint.metadata.json").write_text(f'"/tmp/jsii-kernel-{name}"')

    assert repeatable.main([str(tmp_path / "first"), str(tmp_path / "second")]) == 0
