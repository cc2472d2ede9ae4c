from __future__ import annotations

import json
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
LINES = (REPOSITORY / "adapter_image/Dockerfile").read_text().splitlines()


def instructions(name: str) -> list[str]:
    return [line.removeprefix(name).strip() for line in LINES if line.startswith(f"{name} ")]


def test_every_stage_starts_from_the_base_image_that_is_given_by_digest() -> None:
    assert [stage.split()[0] for stage in instructions("FROM")] == ["${BASE_IMAGE}", "${BASE_IMAGE}"]
    assert any("*@sha256:*" in line for line in LINES)


def test_the_entry_point_is_in_exec_form_so_that_python_is_pid_1() -> None:
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["/usr/bin/python3", "-m", "decision_adapter"]


def test_what_is_copied_is_what_the_build_context_has() -> None:
    context = {
        "requirements.lock": REPOSITORY / "adapter_image/requirements.lock",
        "decision_adapter": REPOSITORY / "adapter_image/decision_adapter",
        "decision_provenance": REPOSITORY / "provenance/decision_provenance",
    }
    copied = {line.split()[0] for line in instructions("COPY") if not line.startswith("--from")}

    assert copied == set(context)
    assert all(path.exists() for path in context.values())


def test_python_packages_are_installed_by_hash() -> None:
    assert any("--require-hashes" in line for line in LINES)
