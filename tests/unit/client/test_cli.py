"""`decisions invoke` against a runtime API on loopback."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from decision_client.cli import app
from decision_client.examples import EXAMPLE_QUESTIONS, EXAMPLE_STATE, SAMPLE_ANSWER
from decision_client.questions import request_for_questions

REQUEST = b'{"decision": {"id": "x",  "id": "x"}}'


@pytest.fixture
def runner() -> CliRunner:
    return CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1", "AWS_PROFILE": None, "AWS_CONFIG_FILE": "/dev/null"})


@pytest.fixture
def to_api(runtime_api: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The options that reach the API as an endpoint on AWS is reached."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "123456789012")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    return ["--endpoint", "decisions-dev", "--endpoint-url", runtime_api.url, "--region", "us-east-1"]


@pytest.fixture
def home(runtime_api: Any, tmp_path: Path) -> Path:
    """The folder of a local cloud that listens where the API does."""
    folder = tmp_path / "checkout" / ".local-cloud"
    folder.mkdir(parents=True)
    described = {"pid": 1, "port": runtime_api.port, "account": "123456789012", "region": "us-east-1"}
    (folder / "cloud.json").write_text(json.dumps(described))
    return folder


def test_without_a_file_the_example_is_asked_and_shown_as_a_table(
    runner: CliRunner, to_api: list[str], runtime_api: Any
) -> None:
    outcome = runner.invoke(app, ["invoke", *to_api])

    assert outcome.exit_code == 0, outcome.stderr
    assert runtime_api.paths == ["/endpoints/decisions-dev/invocations"]
    assert json.loads(runtime_api.received[0])["decision"]["id"] == "support-route"
    for shown in (
        "The customer cannot sign in.",
        "Which queue should handle this request?",
        "0.7500",
        "█",
        "model.gguf",
        "b1" * 32,
        "118",
        "400 ms",
    ):
        assert shown in outcome.stdout


def test_a_batch_is_shown_with_what_its_decisions_share(runner: CliRunner, to_api: list[str], runtime_api: Any) -> None:
    result = json.loads(SAMPLE_ANSWER)["result"]
    timing = {
        "batch_size": 2,
        "prefix_tokens": 90,
        "prefill_seconds": 1,
        "suffix_forward_seconds": 1,
        "total_seconds": 2,
    }
    runtime_api.body = json.dumps({"results": [result, {**result, "id": "other"}], "timing": timing}).encode()

    outcome = runner.invoke(app, ["invoke", *to_api])

    assert outcome.exit_code == 0, outcome.stderr
    assert "other" in outcome.stdout
    assert "118, 118 in the prompts, 90 of each are the shared state" in outcome.stdout
    assert "2000 ms in the endpoint" in outcome.stdout


def test_answers_of_system_one_are_shown_each_in_its_kind(
    runner: CliRunner, to_api: list[str], runtime_api: Any
) -> None:
    outcome = runner.invoke(
        app, ["invoke", "-", *to_api], input=request_for_questions(EXAMPLE_STATE, EXAMPLE_QUESTIONS)
    )

    assert outcome.exit_code == 0, outcome.stderr
    for shown in (
        "I was charged twice.",
        "Does the customer want money back?",
        "true",
        "confidence 0.75",
        "1  Annoyed",
        "score 1.25",
        "b1" * 32,
        "239, 90 of them the state's, 0 cached",
    ):
        assert shown in outcome.stdout


def test_an_adapter_is_asked_by_its_url_with_the_key_of_the_environment(runner: CliRunner, runtime_api: Any) -> None:
    outcome = runner.invoke(app, ["invoke", "--url", runtime_api.url], env={"DECISION_API_KEY": "s3cret"})

    assert outcome.exit_code == 0, outcome.stderr
    assert (runtime_api.paths, runtime_api.authorizations) == (["/invocations"], ["Bearer s3cret"])


def test_what_no_terminal_can_show_is_no_crash(runner: CliRunner, to_api: list[str], runtime_api: Any) -> None:
    document = json.loads(SAMPLE_ANSWER)
    document["result"] |= {"id": "\ud83d", "option_ids": ["\ud83d", "\u0007"]}
    runtime_api.body = json.dumps(document).encode()

    outcome = runner.invoke(app, ["invoke", *to_api])

    assert (outcome.exit_code, outcome.exception) == (0, None)


def test_ids_with_markup_are_shown_as_they_are(runner: CliRunner, to_api: list[str], runtime_api: Any) -> None:
    document = json.loads(SAMPLE_ANSWER)
    document["result"]["option_ids"] = ["[red]a[/red]", "[/]"]
    runtime_api.body = json.dumps(document).encode()

    outcome = runner.invoke(app, ["invoke", *to_api])

    assert "[red]a[/red]" in outcome.stdout
    assert outcome.exit_code == 0


def test_a_file_is_sent_byte_for_byte(runner: CliRunner, to_api: list[str], runtime_api: Any, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_bytes(REQUEST)

    runner.invoke(app, ["invoke", str(tmp_path / "request.json"), *to_api])

    assert runtime_api.received == [REQUEST]


def test_a_dash_reads_standard_input(runner: CliRunner, to_api: list[str], runtime_api: Any) -> None:
    runner.invoke(app, ["invoke", "-", *to_api], input=REQUEST)

    assert runtime_api.received == [REQUEST]


def test_json_prints_the_endpoints_own_bytes(runner: CliRunner, to_api: list[str]) -> None:
    outcome = runner.invoke(app, ["invoke", "--json", *to_api])

    assert outcome.stdout_bytes == SAMPLE_ANSWER + b"\n"


def test_the_local_cloud_is_found_in_a_parent_folder(
    runner: CliRunner, runtime_api: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = home.parent / "docs" / "pictures"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    monkeypatch.setenv("AWS_PROFILE", "a-profile-that-does-not-exist")

    outcome = runner.invoke(app, ["invoke", "--local"], env={"AWS_PROFILE": "a-profile-that-does-not-exist"})

    assert outcome.exit_code == 0, outcome.stderr
    assert runtime_api.paths == ["/endpoints/decisions-local/invocations"]


def test_the_local_cloud_can_be_named_by_its_folder(runner: CliRunner, runtime_api: Any, home: Path) -> None:
    outcome = runner.invoke(app, ["invoke", "--local-home", str(home), "--endpoint", "other"])

    assert outcome.exit_code == 0, outcome.stderr
    assert runtime_api.paths == ["/endpoints/other/invocations"]


def test_a_proxy_of_the_environment_is_not_asked_for_loopback(runner: CliRunner, home: Path) -> None:
    outcome = runner.invoke(app, ["invoke", "--local-home", str(home)], env={"HTTP_PROXY": "http://127.0.0.1:9"})

    assert outcome.exit_code == 0, outcome.stderr


def test_without_a_local_cloud_the_command_says_how_to_start_one(
    runner: CliRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    outcome = runner.invoke(app, ["invoke", "--local"])

    assert outcome.exit_code == 3
    assert "make demo" in outcome.stderr


def test_a_local_cloud_that_stopped_is_said_to_have_stopped(runner: CliRunner, home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    (home / "cloud.json").write_text(json.dumps({"port": port, "account": "123456789012", "region": "us-east-1"}))

    outcome = runner.invoke(app, ["invoke", "--local-home", str(home)])

    assert outcome.exit_code == 3
    assert f"does not answer on port {port}" in outcome.stderr


def test_a_local_cloud_whose_description_is_spoilt_is_one_sentence(runner: CliRunner, home: Path) -> None:
    (home / "cloud.json").write_text('{"port": ')

    outcome = runner.invoke(app, ["invoke", "--local-home", str(home)])

    assert outcome.exit_code == 3
    assert "does not describe a local cloud" in outcome.stderr


def test_a_refused_request_exits_2_with_the_endpoints_sentence(
    runner: CliRunner, to_api: list[str], runtime_api: Any
) -> None:
    runtime_api.answer_as_container(400, {"error": "decision 'x' has 1 option: from 2 to 26 are allowed"})

    outcome = runner.invoke(app, ["invoke", *to_api])

    assert outcome.exit_code == 2
    assert outcome.stderr == "Error: decision 'x' has 1 option: from 2 to 26 are allowed\n"
    assert len(runtime_api.received) == 1


def test_a_missing_endpoint_exits_3(runner: CliRunner, to_api: list[str], runtime_api: Any) -> None:
    runtime_api.fail("ValidationError", 400, {"Message": "Endpoint decisions-dev of account 1 not found."})

    outcome = runner.invoke(app, ["invoke", *to_api])

    assert outcome.exit_code == 3
    assert "there is no endpoint 'decisions-dev'" in outcome.stderr


def test_something_that_is_no_decision_endpoint_exits_3(runner: CliRunner, to_api: list[str], runtime_api: Any) -> None:
    runtime_api.body = b'{"choices": []}'

    outcome = runner.invoke(app, ["invoke", *to_api])

    assert outcome.exit_code == 3
    assert "Traceback" not in outcome.stderr


def test_an_endpoint_busy_past_the_deadline_exits_4(runner: CliRunner, to_api: list[str], runtime_api: Any) -> None:
    runtime_api.answer_as_container(503, {"error": "full", "retryable": True, "retry_after_ms": 60_000})

    outcome = runner.invoke(app, ["invoke", "--deadline", "1", *to_api])

    assert outcome.exit_code == 4
    assert "was busy" in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "--endpoint"),
        (["no-such-file.json", "--local"], "no-such-file.json cannot be read"),
        (["--local", "--region", "us-east-1"], "leave --local out"),
        (["--url", "http://x", "--local"], "leave --url out"),
        (["--url", "localhost:8080"], "no URL of an adapter"),
        (["--endpoint", "x", "--profile", "no-such-profile"], "no-such-profile"),
    ],
)
def test_a_wrong_command_line_exits_2_and_says_what_to_write(
    runner: CliRunner, arguments: list[str], sentence: str
) -> None:
    outcome = runner.invoke(app, ["invoke", *arguments])

    assert outcome.exit_code == 2
    assert sentence in " ".join(outcome.stderr.split())


def test_the_help_shows_an_example_and_every_exit_code(runner: CliRunner) -> None:
    outcome = runner.invoke(app, ["invoke", "--help"])

    assert "decisions invoke --local" in outcome.stdout
    assert "--url http://127.0.0.1:8080" in outcome.stdout
    for line in ("0  the endpoint answered", "2  the command", "3  there is no", "4  it stayed busy"):
        assert line in outcome.stdout
