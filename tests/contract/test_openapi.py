"""The served description is true: of every answer and every refusal, and of what is taken and what is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from tests.support.adapter_process import AdapterProcess
from tests.support.semif_requests import decision, lettered, single
from tests.support.systemone_requests import NOUL, choice, options, score, systemone

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def description(adapter: AdapterProcess) -> dict[str, Any]:
    with adapter.client() as client:
        document: dict[str, Any] = client.get("/openapi.json").json()
    return document


def validator(description: dict[str, Any], content: dict[str, Any]) -> Draft202012Validator:
    """Of the one schema of a body; references are to the document's components."""
    schema = content["application/json"]["schema"]
    return Draft202012Validator(schema | {"components": description["components"]})


def test_the_schemas_are_json_schemas(description: dict[str, Any]) -> None:
    assert description["openapi"].startswith("3.1")
    for schema in description["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_path_that_is_described_is_there_and_no_other(client: httpx.Client, description: dict[str, Any]) -> None:
    for path, methods in description["paths"].items():
        for method in methods:
            assert client.request(method, path).status_code not in (404, 405), (method, path)
    told = client.get("/nothing").json()["error"]
    assert {word.rstrip(",") for word in told.split() if word.startswith("/")} == set(description["paths"])


EXCHANGES: dict[str, Callable[[httpx.Client], httpx.Response]] = {
    "a decision": lambda client: client.post("/invocations", json=single()),
    "decisions": lambda client: client.post("/invocations", json={"decisions": [decision()]}),
    "questions at invocations": lambda client: client.post("/invocations", json=systemone()),
    "questions": lambda client: client.post("/v1/systemone", json=systemone(state={"a": [1]})),
    "structured levels": lambda client: client.post(
        "/v1/systemone", json=systemone({"q": score([{"a": 1}, ["x", None], ""])})
    ),
    "models": lambda client: client.get("/v1/models"),
    "ping": lambda client: client.get("/ping"),
    "a wrong decision": lambda client: client.post("/invocations", json={}),
    "a wrong question": lambda client: client.post("/v1/systemone", json=systemone({"q": score(["x"])})),
    "no JSON": lambda client: client.post("/v1/systemone", content=b"{", headers=JSON),
    "too long": lambda client: client.post("/v1/systemone", json=systemone(state="x" * 50_000)),
    "too many options": lambda client: client.post("/v1/systemone", json=systemone({"q": choice(options(255))})),
    "text": lambda client: client.post("/v1/systemone", content=b"x", headers={"content-type": "text/plain"}),
    "text at invocations": lambda client: client.post("/invocations", content=b"x"),
    "too large": lambda client: client.post("/v1/systemone", content=b"x" * 6_291_457, headers=JSON),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_an_answer_is_as_described(client: httpx.Client, description: dict[str, Any], name: str) -> None:
    response = EXCHANGES[name](client)

    operation = description["paths"][response.request.url.path][response.request.method.lower()]
    described = operation["responses"][str(response.status_code)]["content"]
    validator(description, described).validate(response.json())
    assert response.headers["content-type"] in described


def test_a_refusal_out_of_service_is_as_described(environment: dict[str, str]) -> None:
    told = environment | {"DECISION_MODEL_SHA256": "ab" * 32, "DECISION_API_KEY": "sesame"}
    known = {"authorization": "Bearer sesame"}
    with AdapterProcess(told) as adapter, adapter.client() as client:
        adapter.event("model_refused")
        description = client.get("/openapi.json", headers=known).json()
        refusals = [
            client.get("/ping"),
            client.get("/v1/models"),
            client.get("/v1/models", headers=known),
            client.post("/v1/systemone", json=systemone(), headers=known),
            client.post("/v1/systemone", json=systemone()),
            client.post("/invocations", json=single(), headers=known),
            client.post("/invocations", json=single()),
            client.get("/metrics"),
            client.get("/openapi.json"),
        ]

    assert [response.status_code for response in refusals] == [503, 401, 503, 503, 401, 503, 401, 401, 401]
    for response in refusals:
        operation = description["paths"][response.request.url.path][response.request.method.lower()]
        described = operation["responses"][str(response.status_code)]["content"]
        validator(description, described).validate(response.json())


REQUESTS: dict[str, tuple[str, Any, bool]] = {
    "a decision": ("/invocations", single(), True),
    "a decision with 27 options": ("/invocations", single(options=lettered(27)), False),
    "a decision with one option": ("/invocations", single(options=lettered(1)), False),
    "a decision with an empty state": ("/invocations", single(""), False),
    "a decision with an empty id": ("/invocations", single(id=""), False),
    "no decision": ("/invocations", {"decisions": []}, False),
    "questions": ("/invocations", systemone(), True),
    "questions with more fields": ("/v1/systemone", systemone(seed=1), True),
    "no question": ("/v1/systemone", systemone({}), False),
    "65 questions": ("/v1/systemone", systemone({str(n): NOUL for n in range(65)}), False),
    "a state that is null": ("/v1/systemone", systemone(state=None), False),
    "one option": ("/v1/systemone", systemone({"q": choice({"a": None})}), True),
    "no option": ("/v1/systemone", systemone({"q": choice({})}), False),
    "256 options": ("/v1/systemone", systemone({"q": choice(options(256))}), False),
    "an option described by a number": ("/v1/systemone", systemone({"q": choice({"a": 1})}), False),
    "10 levels": ("/v1/systemone", systemone({"q": score(["x"] * 10)}), True),
    "11 levels": ("/v1/systemone", systemone({"q": score(["x"] * 11)}), False),
    "1 level": ("/v1/systemone", systemone({"q": score(["x"])}), False),
    "a level that is null": ("/v1/systemone", systemone({"q": score(["x", None])}), False),
    "a question of another type": ("/v1/systemone", systemone({"q": {"type": "box"}}), False),
    "an outcome that is none": ("/v1/systemone", systemone({"q": NOUL | {"criteria": {"yes": "x"}}}), False),
    "no permutation": ("/v1/systemone", systemone(x_permutations=0), False),
    "a model that is no name": ("/v1/systemone", systemone(model=3), False),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_what_is_described_is_taken_and_what_is_not_is_refused(
    client: httpx.Client, description: dict[str, Any], name: str
) -> None:
    path, request, taken = REQUESTS[name]

    described = description["paths"][path]["post"]["requestBody"]["content"]
    assert validator(description, described).is_valid(request) is taken
    assert (client.post(path, json=request).status_code == 200) is taken
