"""What llama.cpp logs is kept for the refusal that needs it, and proves how many layers are on a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from decision_adapter.errors import OffloadIncomplete
from decision_adapter.llama import Library, Model
from decision_adapter.llama.library import Device
from decision_adapter.llama.log import LogTail

INFO, WARN, ERROR, CONTINUED = 2, 3, 4, 5


class OffloadLog(LogTail):
    """A log in which the loader says that it offloaded so many layers, or nothing."""

    def __init__(self, offloaded: tuple[int, int] | None) -> None:
        super().__init__()
        self._said = offloaded

    @property
    def offloaded(self) -> tuple[int, int] | None:
        return self._said


def test_only_complaints_are_kept_and_their_parts_joined() -> None:
    log = LogTail(lines=2)

    for level, text in [
        (WARN, b"dropped\n"),
        (INFO, b"fine\n"),
        (ERROR, b"cannot "),
        (CONTINUED, b"read\n"),
        (WARN, b"so\n"),
    ]:
        log.callback(level, text, None)

    assert log.complaints == "cannot read; so"


def test_parts_of_an_ordinary_line_are_no_complaint() -> None:
    log = LogTail()

    for level, text in [(ERROR, b"bad\n"), (INFO, b"loading"), (CONTINUED, b".....\n")]:
        log.callback(level, text, None)

    assert log.complaints == "bad"


def test_the_loaders_line_tells_how_many_layers_are_offloaded() -> None:
    log = LogTail()

    log.callback(INFO, b"load_tensors: offloaded 12/33 layers to GPU\n", None)
    said = [log.offloaded]
    log.forget()

    assert [*said, log.offloaded] == [(12, 33), None]


@pytest.mark.parametrize(
    ("said", "asked", "refusal"),
    [
        ((0, 3), 2, "2 of 3 layers were to be offloaded, llama.cpp offloaded 0"),
        ((3, 3), 0, "0 of 3 layers were to be offloaded, llama.cpp offloaded 3"),
        (None, 2, "did not report how many layers"),
    ],
)
def test_a_build_that_offloads_other_layers_than_it_was_told_is_refused(
    library: Library, tiny_path: Path, said: tuple[int, int] | None, asked: int, refusal: str
) -> None:
    with_gpu = replace(library, log=OffloadLog(said), devices=(Device("GPU", "CUDA0", "NVIDIA L4"),))

    with pytest.raises(OffloadIncomplete, match=refusal):
        Model(with_gpu, tiny_path, n_gpu_layers=asked)


def test_more_layers_than_the_model_has_are_all_of_them(library: Library, tiny_path: Path) -> None:
    with_gpu = replace(library, log=OffloadLog((3, 3)), devices=(Device("GPU", "CUDA0", "NVIDIA L4"),))

    Model(with_gpu, tiny_path, n_gpu_layers=99).close()
