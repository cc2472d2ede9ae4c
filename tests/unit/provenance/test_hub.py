"""Only what can never name other bytes tomorrow is taken for a place on the hub."""

from __future__ import annotations

import pytest

from decision_provenance.hub import is_loopback, parse_endpoint, parse_folder, parse_repository, parse_revision


@pytest.mark.parametrize("text", ["", "model", "a/b/c", "https://huggingface.co/a/b", "a/..", "../b", "a/b c", "a/b\n"])
def test_a_repository_that_is_no_owner_and_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="give owner/name"):
        parse_repository(text)


@pytest.mark.parametrize("text", ["main", "v1.0", "4168f45", "4168F45A" * 5, "4168f45a" * 8, "4168f45a" * 5 + "\n"])
def test_a_revision_that_can_move_or_is_cut_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="give the full commit, 40 lower-case hex digits"):
        parse_revision(text)


@pytest.mark.parametrize("text", ["/Q8_0", "Q8_0/", "a//b", "../x", ".", "a?b", "a%2fb"])
def test_a_folder_that_leads_elsewhere_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="give a path within the repository"):
        parse_folder(text)


@pytest.mark.parametrize(
    "text",
    [
        "huggingface.co",
        "http://huggingface.co",
        "http://127.0.0.1.your-company.test",
        "https://user:secret@your-company.test",
        "https://your-company.test?x=1",
        "https://your-company.test#x",
        "https://your-company.test:port",
        "https://[::1",
        "https://",
        "ftp://your-company.test",
    ],
)
def test_an_endpoint_that_is_not_to_be_trusted_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"endpoint is .*: give https://"):
        parse_endpoint(text)


@pytest.mark.parametrize("text", ["https://your-company.test:8443/hub", "http://127.0.0.1:8080", "http://[::1]:8080"])
def test_a_mirror_and_this_machine_are_endpoints(text: str) -> None:
    assert parse_endpoint(f"{text}/") == text


def test_this_machine_is_known_by_its_address_and_not_by_how_a_name_begins() -> None:
    assert is_loopback("http://localhost:80/x")
    assert not is_loopback("http://localhost.your-company.test/x")
