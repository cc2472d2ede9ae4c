"""A filter pattern matches the lines that CloudWatch Logs matches."""

from __future__ import annotations

import pytest

from local_cloud.cloudwatch.filter_pattern import FilterPattern, PatternError, selected

LINE = '{"event": "request", "status": 503, "ms": 2.5, "ok": false, "none": null, "in": {"list": [7, 8]}}'


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "request",
        '"request" 503',
        '{ $.event = "request" }',
        "{ $.event = request }",
        "{ $.event = req* }",
        '{ $.event != "other" }',
        "{ $.status = 503 }",
        "{ $.ms > 2 && $.ms <= 2.5 }",
        "{ $.status = 500 || ($.status = 503 && $.ms < 3) }",
        "{ $.in.list[1] = 8 }",
        "{ $.ok IS FALSE }",
        "{ $.none IS NULL }",
        "{ $.absent NOT EXISTS }",
    ],
)
def test_a_pattern_matches(pattern: str) -> None:
    assert FilterPattern.parse(pattern).matches(LINE)


@pytest.mark.parametrize(
    "pattern",
    [
        "absent",
        '{ $.event = "reques" }',
        '{ $.status = "503" }',
        "{ $.event = 503 }",
        "{ $.absent != 1 }",
        "{ $.absent != x }",
        "{ $.ok = 0 }",
        "{ $.status > 503 }",
        "{ $.status = 503 && $.ms > 3 || $.ms = 9 }",
        "{ $.in.list[2] = 8 }",
    ],
)
def test_a_pattern_does_not_match(pattern: str) -> None:
    assert not FilterPattern.parse(pattern).matches(LINE)


@pytest.mark.parametrize("line", ["", "no json", "503", '{"status": 503'])
def test_a_json_pattern_matches_no_other_line(line: str) -> None:
    assert not FilterPattern.parse("{ $.status = 503 || $.status NOT EXISTS }").matches(line)


@pytest.mark.parametrize(
    "pattern",
    ["{ $.status = 503", "{ status = 503 }", "{ $.status 503 }", "{ ($.status = 503 }", "{ $.ms > x }", "[a, b]"],
)
def test_a_wrong_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        FilterPattern.parse(pattern)


def test_a_selector_finds_its_value() -> None:
    assert selected(LINE, "$.ms") == 2.5
    assert selected(LINE, "$.absent") is None
