"""The published suite for System One servers, whole, and the official SDK."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from jevcompat import checks, client, runner, validate  # type: ignore[import-untyped]
from typesafe_sdk import (
    Choice,
    Noul,
    Score,
    TypeSafeAuthenticationError,
    TypeSafeBadRequestError,
    TypeSafeClient,
    TypeSafeUnprocessableEntityError,
)

from tests.contract.conftest import SMOLLM2_DIR
from tests.support.adapter_process import PATIENT_ADAPTER, AdapterProcess
from tests.support.systemone_requests import STATE, options

KEY = "an-open-sesame"

# What one of the two ways, with a key and without, cannot exercise; and what no answer of this server gives cause to:
# a test below puts its other errors to the suite's own check.
NEEDS_A_KEY = {"auth.bearer", "auth.missing", "auth.invalid"}
NEEDS_NO_KEY = {"auth.ignored-when-off"}
NEVER_CAUSED = {"errors.shape"}


def conform(url: str, key: str | None, *, without: frozenset[str] = frozenset()) -> Any:
    """Hold the server to every requirement there is."""
    cases = {case.name for case in checks.CASES} - without
    report = runner.run(url, key=key, timeout=600, only=cases)

    failures = [(finding.req, finding.message) for result in report.results for finding in result.findings]
    assert (report.aborted, report.case_errors, report.inconclusive, failures) == (None, [], [], [])
    skipped = {result.id for result in report.results if result.status != "pass"}
    assert skipped == NEVER_CAUSED | (NEEDS_NO_KEY if key else NEEDS_A_KEY)
    assert report.conformant
    return report


@pytest.fixture(scope="module")
def keyed(wide_environment: dict[str, str]) -> Iterator[AdapterProcess]:
    with AdapterProcess(wide_environment | {"DECISION_API_KEY": KEY}) as process:
        yield process.ready()


def test_every_requirement_is_met_without_a_key(wide: AdapterProcess) -> None:
    report = conform(wide.url, None)

    assert report.info["limits"] == {"choice options accepted up to": 255, "score levels accepted up to": 10}


def test_every_requirement_is_met_with_a_key(keyed: AdapterProcess) -> None:
    conform(keyed.url, KEY)


@pytest.mark.smollm2
@pytest.mark.skipif("CONFORMANCE" not in os.environ, reason="takes many minutes: run `make conformance`")
@pytest.mark.parametrize("key", [None, KEY], ids=["without a key", "with a key"])
def test_every_requirement_is_met_by_a_real_model(engine: dict[str, str], key: str | None) -> None:
    # One thread: two that wait for each other take twice as long on a machine where others work.
    told = {"DECISION_MODEL_DIR": str(SMOLLM2_DIR), "DECISION_CONTEXT_TOKENS": "8192", "DECISION_THREADS": "1"}
    with AdapterProcess(engine | told | ({"DECISION_API_KEY": key} if key else {}), command=PATIENT_ADAPTER) as adapter:
        adapter.ready()
        # 255 options of a real model take a minute, and have nothing to do with a key.
        conform(adapter.url, key, without=frozenset({"choice-options"} if key else ()))


def test_errors_that_are_not_of_the_body_have_the_shape_the_suite_asks_for(keyed: AdapterProcess) -> None:
    json = {"content-type": "application/json"}
    known = {"authorization": f"Bearer {KEY}"}
    with keyed.client() as caller:
        errors = [
            caller.post("/v1/systemone", content=b"{}", headers=json),
            caller.get("/v1/systemone", headers=known),
            caller.get("/v1/nothing", headers=known),
            caller.post("/v1/systemone", content=b"{}", headers=known | {"content-type": "text/plain"}),
            caller.post("/v1/systemone", content=b"x", headers=known | json | {"content-encoding": "zstd"}),
            caller.post("/v1/systemone", content=b"x" * 6_291_457, headers=known | json),
            caller.post(
                "/v1/systemone",
                json={"state": "x" * 20_000, "questions": {"q": {"type": "noul", "instructions": "?"}}},
                headers=known,
            ),
        ]

    assert [error.status_code for error in errors] == [401, 405, 404, 415, 400, 413, 400]
    for error in errors:
        parsed = client.Response(error.status_code, dict(error.headers), error.content, 0.0, error.json())
        assert validate.validate_error_shape(parsed) == []
    assert errors[-1].json()["detail"]["error_type"] == "max_tokens_exceeded"


@pytest.fixture
def sdk(keyed: AdapterProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[TypeSafeClient]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    # The SDK compresses bodies from 1,024 bytes on.
    with TypeSafeClient(base_url=keyed.url, api_key=KEY, compression="zstd") as made:
        yield made


def test_the_official_sdk_parses_every_kind_of_answer(sdk: TypeSafeClient) -> None:
    answer = sdk.system_one(
        state={"text": STATE, "more": ["x" * 1024]},
        questions={
            "locked": Noul(instructions=["Is the customer", {"locked": "out"}]),
            "described": Noul(criteria={"false": "All is well."}),
            "queue": Choice(criteria={"z": None, "a": {"owns": ["sign-in"]}, "": "", "é": ["x"]}),
            "one": Choice(instructions="Which?", criteria={"only": None}),
            "many": Choice(instructions="Which?", criteria=options(60)),
            "urgency": Score(criteria=["It can wait", {"label": "Today"}, ["At", "once"]]),
        },
    )

    assert list(answer.answers) == ["locked", "described", "queue", "one", "many", "urgency"]
    assert 0 <= answer.nouls["locked"].noul <= 1
    assert list(answer.choices["queue"].probabilities) == ["z", "a", "", "é"]
    assert (answer.choices["one"].probabilities, answer.choices["one"].confidence) == ({"only": 1.0}, 1.0)
    assert len(answer.choices["many"].probabilities) == 60
    assert answer.scores["urgency"].legend == {0: "It can wait", 1: {"label": "Today"}, 2: ["At", "once"]}
    assert answer.model == "wide"
    assert (answer.usage.input_tokens or 0) > 1024


def test_the_official_sdk_lists_the_model(sdk: TypeSafeClient) -> None:
    (model,) = sdk.models.list().models

    assert model.name == "wide"


@pytest.mark.parametrize(
    ("state", "questions", "raised", "said"),
    [
        ("x", {"q": {"type": "score", "criteria": ["one"]}}, TypeSafeUnprocessableEntityError, "from 2 to 10"),
        ("x" * 20_000, {"q": Noul(instructions="?")}, TypeSafeBadRequestError, "the limit is 16384"),
    ],
)
def test_the_official_sdk_tells_its_caller_what_is_wrong(
    sdk: TypeSafeClient, state: str, questions: dict[str, object], raised: type[Exception], said: str
) -> None:
    with pytest.raises(raised, match=said):
        sdk.system_one(state=state, questions=questions)  # type: ignore[arg-type]


def test_the_official_sdk_tells_its_caller_of_a_wrong_key(keyed: AdapterProcess) -> None:
    with (
        TypeSafeClient(base_url=keyed.url, api_key="another") as stranger,
        pytest.raises(TypeSafeAuthenticationError, match="not the one of this server"),
    ):
        stranger.system_one(state="x", questions={"q": Noul(instructions="?")})


def test_a_key_is_asked_for_everywhere_but_at_ping(keyed: AdapterProcess) -> None:
    routes = [
        ("POST", "/invocations"),
        ("POST", "/v1/systemone"),
        ("GET", "/v1/models"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
    ]
    with keyed.client() as caller:
        refused = [caller.request(method, path) for method, path in routes]
        let_in = [
            caller.get(path, headers={"authorization": f"bearer {KEY}"})
            for path in ("/v1/models", "/metrics", "/openapi.json")
        ]
        ping = caller.get("/ping")

    assert {response.status_code for response in refused} == {401}
    assert all(response.headers["www-authenticate"] == "Bearer" for response in refused)
    assert {response.status_code for response in let_in} == {200}
    assert ping.status_code == 200
    assert KEY not in keyed.output


@pytest.mark.parametrize("header", ["", "Bearer", f"Basic {KEY}", f"Bearer {KEY}x", KEY, f"Bearer {KEY[:-1]}"])
def test_another_key_is_refused_before_the_body_is_read(keyed: AdapterProcess, header: str) -> None:
    with keyed.client() as caller:
        response = caller.post("/invocations", content=b"not json", headers={"authorization": header})

    assert response.status_code == 401
    assert "key" in response.json()["error"]
