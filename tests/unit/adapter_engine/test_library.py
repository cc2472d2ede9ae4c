"""An engine that cannot be proved to be the right one, or a device that is not there, is refused with the reason."""

from __future__ import annotations

import shutil
import struct
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from decision_adapter.errors import ModelRefused, OffloadIncomplete
from decision_adapter.llama import Context, Library, Model, layout, load_library
from decision_adapter.llama.library import Device
from tests.support.tiny_gguf import write_tiny_gguf


def test_the_engine_names_its_version_and_sees_a_processor(library: Library) -> None:
    assert library.version
    assert any(device.kind == "CPU" for device in library.devices)


def test_an_engine_is_loaded_once(library: Library, engine_dir: Path) -> None:
    assert load_library(engine_dir / ".." / engine_dir.name) is library


def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match="is no directory"):
        load_library(tmp_path / "none")


def test_a_directory_without_libllama_is_refused(tmp_path: Path) -> None:
    (tmp_path / "libllama-common.so").write_bytes(b"")

    with pytest.raises(ModelRefused, match="holds no libllama"):
        load_library(tmp_path)


def test_two_engines_in_one_directory_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "libllama.so").write_bytes(b"")
    (tmp_path / "libllama.v0.5.0.so").write_bytes(b"")

    with pytest.raises(ModelRefused, match=r"libllama\.so, libllama\.v0\.5\.0\.so; leave exactly one"):
        load_library(tmp_path)


def test_links_to_one_engine_are_one_engine(tmp_path: Path) -> None:
    (tmp_path / "libllama.so.0.5.0").write_bytes(b"no library")
    (tmp_path / "libllama.so.0").symlink_to("libllama.so.0.5.0")
    (tmp_path / "libllama.so").symlink_to("libllama.so.0")

    with pytest.raises(ModelRefused, match=r"libllama\.so\.0\.5\.0 cannot be loaded"):
        load_library(tmp_path)


def test_a_library_without_the_functions_is_refused(tmp_path: Path) -> None:
    # Any shared object will do that is no libllama.
    shutil.copy(msgspec._core.__file__, tmp_path / "libllama.so")

    with pytest.raises(ModelRefused, match=r"lacks .*llama_decode"):
        load_library(tmp_path)


def test_a_context_that_reads_back_other_sizes_is_refused(tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decision_adapter.llama.context.N_BATCH", 256)
    monkeypatch.setattr(
        type(tiny_model.library.layout),
        "context_params",
        lambda self, **sizes: layout._filled(self.context_defaults, struct.pack("<4I", 1024, 128, 128, 2)),
    )

    with pytest.raises(ModelRefused, match="n_batch is 128 instead of 256"):
        Context(tiny_model, n_seq_max=2, n_ctx_seq=512, n_threads=1)


def test_a_build_whose_sequences_share_a_buffer_by_default_is_refused(library: Library, tiny_path: Path) -> None:
    # bool embeddings, offload_kqv, no_perf, op_offload, swa_full, kv_unified: their defaults are found nowhere else.
    defaults = library.layout.context_defaults
    assert defaults.count(bytes([0, 1, 1, 1, 1, 0])) == 1
    shared = defaults.replace(bytes([0, 1, 1, 1, 1, 0]), bytes([0, 1, 1, 1, 1, 1]))
    model = Model(replace(library, layout=replace(library.layout, context_defaults=shared)), tiny_path)

    with pytest.raises(ModelRefused, match="n_ctx_seq is 1024 instead of 512"):
        Context(model, n_seq_max=2, n_ctx_seq=512, n_threads=1)

    model.close()


def test_layers_to_offload_without_a_gpu_are_refused(library: Library, tiny_path: Path) -> None:
    if any(device.is_gpu for device in library.devices):
        pytest.skip("this machine has a GPU")

    with pytest.raises(ModelRefused, match="99 layers are to be offloaded and no GPU is visible; the devices are: CPU"):
        Model(library, tiny_path, n_gpu_layers=99)


@pytest.mark.parametrize(
    ("device", "can_take_layers"),
    [
        (Device("GPU", "CUDA0", "NVIDIA L4"), True),
        (Device("IGPU", "Vulkan0", "AMD Radeon"), True),
        (Device("ACCEL", "BLAS", ""), False),
        (Device("CPU", "CUDA0", "an emulation"), False),
    ],
)
def test_what_a_device_is_makes_it_a_gpu_and_not_its_name(device: Device, can_take_layers: bool) -> None:
    assert device.is_gpu is can_take_layers


def test_a_gpu_back_end_without_a_device_is_no_gpu(library: Library, tiny_path: Path) -> None:
    # What a CUDA build sees on a machine without a driver: its back end is loaded and has no device.
    without = replace(library, devices=tuple(device for device in library.devices if not device.is_gpu))

    with pytest.raises(OffloadIncomplete, match="no GPU is visible; the devices are: CPU"):
        Model(without, tiny_path, n_gpu_layers=1)


def test_a_file_that_is_no_model_is_refused_with_the_engines_reason(library: Library, tmp_path: Path) -> None:
    (tmp_path / "no.gguf").write_bytes(b"no model")

    with pytest.raises(ModelRefused, match=r"cannot load .*no\.gguf: .*magic"):
        Model(library, tmp_path / "no.gguf")


def test_the_tiny_model_is_the_same_file_every_time(tmp_path: Path) -> None:
    one = write_tiny_gguf(tmp_path / "one.gguf", user_defined=("</think>",))
    other = write_tiny_gguf(tmp_path / "other.gguf", user_defined=("</think>",))

    assert one.read_bytes() == other.read_bytes()
    assert one.stat().st_size < 120_000
