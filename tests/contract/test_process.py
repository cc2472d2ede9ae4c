"""How the process starts, tells its health, and ends, as SageMaker sees it."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from decision_adapter import server
from tests.support.adapter_process import ADAPTER, STUB_ADAPTER, AdapterProcess
from tests.support.semif_requests import HOSTILE_BODIES, single
from tests.support.waiting import eventually

SIGTERM_LIMIT_SECONDS = 25


def test_sigterm_leaves_its_grace_before_sigkill() -> None:
    assert server.DRAIN_SECONDS < server.LAST_CONNECTIONS_SECONDS < SIGTERM_LIMIT_SECONDS


def evaluating(stub: AdapterProcess) -> bool:
    """Whether the stub has begun to carry out an order; it says so on its standard error."""
    return any("evaluating" in line for line in stub.errors)


def test_ping_is_200_when_ready_and_503_with_a_reason_before(environment: dict[str, str]) -> None:
    told = environment | {"STUB_LOAD_SECONDS": "1.5"}
    with AdapterProcess(told, command=STUB_ADAPTER) as adapter, adapter.client() as client:
        early = client.get("/ping")
        asked_early = client.post("/invocations", json=single())
        adapter.ready()
        late = client.get("/ping")

    assert (early.status_code, early.json()["status"]) == (503, "loading")
    assert asked_early.status_code == 503
    assert asked_early.json()["retryable"] is True
    assert asked_early.json()["retry_after_ms"] > 0
    assert (late.status_code, late.json()) == (200, {"status": "ready"})


def test_the_log_tells_of_loading_and_then_of_what_is_served(adapter: AdapterProcess, tiny_folder: Path) -> None:
    sha256 = hashlib.sha256((tiny_folder / "tiny.gguf").read_bytes()).hexdigest()

    assert adapter.events("loading")
    assert adapter.event("ready")["model"] == "tiny"
    assert adapter.event("ready")["sha256"] == sha256


def test_a_model_with_the_expected_digest_is_served(environment: dict[str, str], tiny_folder: Path) -> None:
    sha256 = hashlib.sha256((tiny_folder / "tiny.gguf").read_bytes()).hexdigest()

    with AdapterProcess(environment | {"DECISION_MODEL_SHA256": sha256.upper()}) as adapter, adapter.client() as client:
        adapter.ready()
        assert client.get("/ping").status_code == 200


def test_a_corrupted_model_stays_out_of_service_with_both_digests_told(
    environment: dict[str, str], tiny_folder: Path, tmp_path: Path
) -> None:
    expected = hashlib.sha256((tiny_folder / "tiny.gguf").read_bytes()).hexdigest()
    corrupted = bytearray((tiny_folder / "tiny.gguf").read_bytes())
    corrupted[-1] ^= 1
    (tmp_path / "tiny.gguf").write_bytes(corrupted)
    found = hashlib.sha256(corrupted).hexdigest()

    told = {"DECISION_MODEL_DIR": str(tmp_path), "DECISION_MODEL_SHA256": expected}
    with AdapterProcess(environment | told) as adapter, adapter.client() as client:
        line = adapter.event("model_refused")
        ping = client.get("/ping")
        asked = client.post("/invocations", json=single())
        assert adapter.process.poll() is None

    assert (line["expected"], line["found"]) == (expected, found)
    assert ping.status_code == 503
    assert expected in ping.json()["error"]
    assert found in ping.json()["error"]
    assert asked.status_code == 503
    assert asked.json()["retryable"] is False


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("a.gguf", "b.gguf"),
        ("m-00001-of-00003.gguf",),
        ("model-00001-of-00002.gguf", "model-00002-of-00002.gguf", "model-2-00001-of-00002.gguf"),
    ],
)
def test_a_folder_without_exactly_one_model_is_refused_with_what_was_seen(
    environment: dict[str, str], tmp_path: Path, names: tuple[str, ...]
) -> None:
    for name in names:
        (tmp_path / name).write_bytes(b"GGUF")

    with AdapterProcess(environment | {"DECISION_MODEL_DIR": str(tmp_path)}, command=STUB_ADAPTER) as adapter:
        reason = adapter.event("model_refused")["reason"]
        with adapter.client() as client:
            assert client.get("/ping").status_code == 503

    assert all(name in reason for name in names or ("nothing",))


def test_a_model_folder_that_is_not_there_is_refused_by_name(environment: dict[str, str], tmp_path: Path) -> None:
    missing = str(tmp_path / "nothing")

    with AdapterProcess(environment | {"DECISION_MODEL_DIR": missing}, command=STUB_ADAPTER) as adapter:
        assert missing in adapter.event("model_refused")["reason"]


@pytest.mark.parametrize("names", [("mmproj-f16.gguf", "model.gguf"), ("._m.gguf", "m.gguf"), ("x/y/z/m.gguf",)])
def test_the_one_model_of_a_folder_is_found(
    environment: dict[str, str], tiny_folder: Path, tmp_path: Path, names: tuple[str, ...]
) -> None:
    for name in names[:-1]:
        (tmp_path / name).write_bytes(b"GGUF")
    model = tmp_path / names[-1]
    model.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(tiny_folder / "tiny.gguf", model)

    with AdapterProcess(environment | {"DECISION_MODEL_DIR": str(tmp_path)}, command=STUB_ADAPTER) as adapter:
        assert adapter.ready().events("loading")[-1]["file"] == model.name


def test_wrong_settings_end_it_before_it_starts_with_every_problem(environment: dict[str, str]) -> None:
    wrong = {"DECISION_THREADS": "none", "DECISION_THREAD": "2"}
    with AdapterProcess(environment | wrong, command=STUB_ADAPTER) as adapter:
        assert adapter.exit_code() == 2

    assert len(adapter.errors) == 2
    assert not adapter.lines


def test_a_port_in_use_is_told(environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = {"SAGEMAKER_BIND_TO_PORT": str(port)}
        with AdapterProcess(environment | told, command=STUB_ADAPTER) as adapter:
            assert adapter.exit_code() == 4

    assert f"port {port}" in adapter.errors[0]


def test_an_engine_or_device_that_is_not_there_ends_it_with_the_reason(environment: dict[str, str]) -> None:
    with AdapterProcess(environment | {"STUB_REFUSES": "no device"}, command=STUB_ADAPTER) as adapter:
        assert adapter.exit_code() == 3

    assert adapter.events("model_refused")[0]["reason"] == "no device"


def test_layers_to_offload_without_a_device_end_it_with_the_reason(environment: dict[str, str]) -> None:
    with AdapterProcess(environment | {"DECISION_GPU_LAYERS": "99"}) as adapter:
        assert adapter.exit_code() == 3

    reason = adapter.events("model_refused")[0]["reason"]
    assert "99 layers" in reason
    assert "no GPU" in reason


def test_a_silent_client_delays_nobody(stub: AdapterProcess, stub_client: httpx.Client) -> None:
    head = b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    silent = [socket.create_connection(("127.0.0.1", stub.port)) for _ in range(20)]
    try:
        for connection in silent:
            connection.sendall(head)
        began = time.monotonic()
        assert stub_client.post("/invocations", json=single()).status_code == 200
        assert stub_client.get("/ping").status_code == 200
        assert time.monotonic() - began < 5
    finally:
        for connection in silent:
            connection.close()
    eventually(
        lambda: [line["outcome"] for line in stub.events("request")].count("gone") == 20,
        "twenty clients logged as gone",
    )


def test_a_client_that_disconnects_frees_its_place(stub: AdapterProcess, stub_client: httpx.Client) -> None:
    body = json.dumps(single(["sleep", 1.5])).encode()
    request = (
        b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    )
    impatient = [socket.create_connection(("127.0.0.1", stub.port)) for _ in range(20)]
    for connection in impatient:
        connection.sendall(request)
    for connection in impatient:
        connection.close()

    began = time.monotonic()
    assert stub_client.post("/invocations", json=single()).status_code == 200

    # Twenty of them would take half a minute; the one that had begun ends.
    assert time.monotonic() - began < 10


def test_refused_bodies_leave_no_place_in_the_queue_taken(environment: dict[str, str]) -> None:
    told = environment | {"DECISION_DEADLINE_SECONDS": "2"}
    too_long = json.dumps(single("x" * 500_000)).encode()
    with AdapterProcess(told, command=STUB_ADAPTER) as adapter, adapter.client() as client:
        adapter.ready()
        # Slow from here on: with two more places taken, nothing would be ready within two seconds.
        assert client.post("/invocations", json=single(["sleep", 1.5])).status_code == 200
        for body in [*HOSTILE_BODIES.values(), too_long]:
            headers = {"content-type": "application/json"}
            assert client.post("/invocations", content=body, headers=headers).status_code == 400

        assert client.post("/invocations", json=single()).status_code == 200


def test_ping_answers_while_the_engine_is_at_work(stub: AdapterProcess, stub_client: httpx.Client) -> None:
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(stub_client.post, "/invocations", json=single(["sleep", 1.5]))
        ping = stub_client.get("/ping")
        assert not answer.done()
        assert answer.result().status_code == 200

    assert ping.status_code == 200
    assert ping.elapsed.total_seconds() < 2


def test_ping_answers_while_a_body_of_millions_of_values_is_read(
    stub: AdapterProcess, stub_client: httpx.Client
) -> None:
    body = json.dumps(single("S")).replace('"S"', "[" + ",".join(["{}"] * 500_000) + "]").encode()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(
            stub_client.post, "/invocations", content=body, headers={"content-type": "application/json"}
        )
        slowest = 0.0
        while not answer.done():
            slowest = max(slowest, stub_client.get("/ping").elapsed.total_seconds())

    assert answer.result().status_code in (200, 400)
    assert slowest < 2


@pytest.mark.parametrize(
    "order",
    [
        ["logits", "nan", "1"],
        ["logits", "inf", "inf"],
        ["logits", "-inf", "-inf"],
        ["nan"],
        ["fail"],
        ["bug"],
    ],
    ids=" ".join,
)
def test_an_evaluation_that_fails_is_a_500_in_words_and_unhealthy_after_three(
    stub: AdapterProcess, stub_client: httpx.Client, order: list[str]
) -> None:
    for _ in range(3):
        assert stub_client.get("/ping").status_code == 200
        failed = stub_client.post("/invocations", json=single(order))
        assert failed.status_code == 500
        assert failed.json()["error"]
        assert "NaN" not in failed.text
        assert "secret" not in failed.text

    assert stub_client.get("/ping").status_code == 503
    assert "secret" not in stub.output


def test_probability_outside_the_options_is_told_as_missing_mass(stub_client: httpx.Client) -> None:
    logits = [str(math.log(share)) for share in (0.3, 0.1, 0.6)]

    result = stub_client.post("/invocations", json=single(["logits", *logits])).json()["result"]

    assert result["allowed_token_mass"] == pytest.approx(0.4)
    assert result["probabilities"] == pytest.approx([0.75, 0.25])


def test_an_evaluation_that_does_not_end_is_a_503_at_ping(environment: dict[str, str]) -> None:
    told = environment | {"DECISION_DEADLINE_SECONDS": "1"}
    with AdapterProcess(told, command=STUB_ADAPTER) as adapter, adapter.client() as client:
        adapter.ready()
        assert client.post("/invocations", json=single(["sleep", 600])).status_code == 503
        assert client.get("/ping").status_code == 200

        ping = eventually(
            lambda: response if (response := client.get("/ping")).status_code != 200 else None, "an unhealthy /ping"
        )

    assert (ping.status_code, ping.json()["status"]) == (503, "failed")
    assert "over 4 s" in ping.json()["error"]


def test_a_dead_engine_is_a_503_and_never_a_hang(stub: AdapterProcess, stub_client: httpx.Client) -> None:
    stub_client.post("/invocations", json=single(["die"]))

    ping = eventually(
        lambda: response if (response := stub_client.get("/ping")).status_code != 200 else None, "an unhealthy /ping"
    )
    asked = stub_client.post("/invocations", json=single())

    assert (ping.status_code, ping.json()["status"]) == (503, "failed")
    assert asked.status_code == 503
    assert asked.json()["retryable"] is True


def test_what_cannot_be_ready_in_time_is_told_at_once(environment: dict[str, str]) -> None:
    told = environment | {"DECISION_DEADLINE_SECONDS": "2"}
    with AdapterProcess(told, command=STUB_ADAPTER) as adapter, adapter.client() as client:
        adapter.ready()
        # Slow from here on: the pace is learned from this one.
        client.post("/invocations", json=single(["sleep", 1.5]))
        with ThreadPoolExecutor(4) as pool:
            responses = list(pool.map(lambda n: client.post("/invocations", json=single(["sleep", 1.5, n])), range(4)))

    busy = [response for response in responses if response.status_code == 503]
    assert busy
    for response in busy:
        assert set(response.json()) == {"error", "retryable", "retry_after_ms"}
        assert response.json()["retryable"] is True
        after_ms = response.json()["retry_after_ms"]
        assert response.headers["retry-after-ms"] == str(after_ms)
        assert response.headers["retry-after"] == str(math.ceil(after_ms / 1000))
        assert response.elapsed.total_seconds() < 1.9


def test_an_answer_that_is_late_is_a_503_at_the_deadline(environment: dict[str, str]) -> None:
    told = environment | {"DECISION_DEADLINE_SECONDS": "1"}
    with AdapterProcess(told, command=STUB_ADAPTER) as adapter, adapter.client() as client:
        adapter.ready()
        late = client.post("/invocations", json=single(["sleep", 3]))

    assert late.status_code == 503
    assert "within 1 s" in late.json()["error"]
    assert 0.9 < late.elapsed.total_seconds() < 2.5


def test_sigterm_with_a_request_in_flight_completes_it_and_exits_0(
    stub: AdapterProcess, stub_client: httpx.Client
) -> None:
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(stub_client.post, "/invocations", json=single(["sleep", 2]))
        eventually(lambda: evaluating(stub), "the request is being evaluated")
        began = time.monotonic()
        stub.terminate()

        assert answer.result().status_code == 200
        assert stub.exit_code() == 0
        assert time.monotonic() - began < SIGTERM_LIMIT_SECONDS

    assert stub.event("stopping")
    assert stub.event("stopped")


def test_sigterm_with_a_request_that_takes_too_long_answers_503_and_exits_0(
    environment: dict[str, str],
) -> None:
    told = environment | {"STUB_DRAIN_SECONDS": "1.5"}
    with AdapterProcess(told, command=STUB_ADAPTER) as adapter, adapter.client() as client:
        adapter.ready()
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(client.post, "/invocations", json=single(["sleep", 45]))
            eventually(lambda: evaluating(adapter), "the request is being evaluated")
            adapter.terminate()

            response = answer.result()
            assert adapter.exit_code() == 0

    assert (response.status_code, response.json()["retryable"]) == (503, True)


def test_sigterm_while_the_model_loads_exits_at_once(environment: dict[str, str]) -> None:
    with AdapterProcess(environment | {"STUB_LOAD_SECONDS": "60"}, command=STUB_ADAPTER) as adapter:
        eventually(lambda: any(line["step"] == "load" for line in adapter.events("loading")), "the model loads")
        began = time.monotonic()
        adapter.terminate()

        assert adapter.exit_code() == 0
        assert time.monotonic() - began < 5


def test_sigterm_while_the_model_is_hashed_exits_at_once(environment: dict[str, str], tmp_path: Path) -> None:
    with (tmp_path / "large.gguf").open("wb") as sparse:
        sparse.truncate(1 << 40)
    with AdapterProcess(environment | {"DECISION_MODEL_DIR": str(tmp_path)}, command=STUB_ADAPTER) as adapter:
        assert adapter.event("loading")["step"] == "hash"
        began = time.monotonic()
        adapter.terminate()

        assert adapter.exit_code() == 0
        assert time.monotonic() - began < 5

    assert not adapter.events("model_refused")


def test_hashing_a_large_model_shows_its_progress(environment: dict[str, str], tmp_path: Path) -> None:
    with (tmp_path / "large.gguf").open("wb") as sparse:
        sparse.truncate(1 << 40)
    with AdapterProcess(environment | {"DECISION_MODEL_DIR": str(tmp_path)}, command=STUB_ADAPTER) as adapter:
        eventually(lambda: any("done_bytes" in line for line in adapter.events("loading")), "a line of progress")


AS_PID_1 = ("unshare", "-Urpf", "--kill-child")
needs_pid_namespaces = pytest.mark.skipif(
    subprocess.run(["unshare", "-Urpf", "true"], capture_output=True, check=False).returncode != 0  # noqa: S607
    if shutil.which("unshare")
    else True,
    reason="needs the right to make a PID namespace",
)


@needs_pid_namespaces
def test_as_pid_1_sigterm_while_the_model_loads_ends_it(environment: dict[str, str]) -> None:
    told = environment | {"STUB_LOAD_SECONDS": "60"}
    with AdapterProcess(told, command=STUB_ADAPTER, wrapper=AS_PID_1) as adapter:
        eventually(lambda: any(line["step"] == "load" for line in adapter.events("loading")), "the model loads")
        (pid,) = _children(adapter.process.pid)
        os.kill(pid, signal.SIGTERM)

        assert adapter.exit_code(SIGTERM_LIMIT_SECONDS) == 0


@needs_pid_namespaces
def test_as_pid_1_sigterm_with_a_request_in_flight_completes_it_and_exits_0(environment: dict[str, str]) -> None:
    with AdapterProcess(environment, command=STUB_ADAPTER, wrapper=AS_PID_1) as adapter, adapter.client() as client:
        adapter.ready()
        (pid,) = _children(adapter.process.pid)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(client.post, "/invocations", json=single(["sleep", 2]))
            eventually(lambda: evaluating(adapter), "the request is being evaluated")
            os.kill(pid, signal.SIGTERM)
            assert answer.result().status_code == 200
        # unshare ends as its child did.
        assert adapter.exit_code(SIGTERM_LIMIT_SECONDS) == 0


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(shutil.which("taskset") is None, reason="needs taskset, as Linux has it")
def test_unless_told_otherwise_it_evaluates_on_the_processors_it_may_run_on(environment: dict[str, str]) -> None:
    untold = {name: value for name, value in environment.items() if name != "DECISION_THREADS"}
    one_processor = ("taskset", "--cpu-list", str(min(os.sched_getaffinity(0))))

    with AdapterProcess(untold, wrapper=one_processor) as adapter:
        assert adapter.event("ready")["threads"] == 1


def test_the_real_adapter_answers_and_ends_with_0(environment: dict[str, str]) -> None:
    with AdapterProcess(environment, command=ADAPTER) as adapter, adapter.client() as client:
        adapter.ready()
        assert client.post("/invocations", json=single()).status_code == 200
        adapter.terminate()

        assert adapter.exit_code() == 0
    assert not adapter.errors
