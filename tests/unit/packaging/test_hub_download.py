"""A file of the hub arrives whole, whatever happens on the way, or one sentence says why it does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from decision_client.packaging import hub_download
from decision_client.packaging.errors import PackagingRefused
from decision_client.packaging.hub_download import TRIES, HubFile, download
from tests.support.fake_hub import Answer, FakeHub

CONTENT = bytes(range(256)) * 40
REVISION = "4168f45a16a1290d65a4ec0fa312ae917a4c15d6"
PATH = f"/owner/model/resolve/{REVISION}/Q8_0/m.gguf"


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each pause would have been."""
    waited: list[float] = []
    monkeypatch.setattr(hub_download, "sleep", waited.append)
    monkeypatch.setattr(hub_download, "PIECE_BYTES", 500)
    return waited


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub({PATH: CONTENT}) as hub:
        yield hub


@pytest.fixture
def elsewhere() -> Iterator[FakeHub]:
    """Where the hub keeps its files: another port, another host for HTTP."""
    with FakeHub({"/blob": CONTENT}) as hub:
        yield hub


def fetch(hub: FakeHub, *, length: int = len(CONTENT)) -> bytes:
    file = HubFile(hub.url, "owner/model", REVISION, "Q8_0/m.gguf", length)
    return b"".join(download(file, say=lambda _: None))


def refusal(hub: FakeHub, *, length: int = len(CONTENT)) -> str:
    with pytest.raises(PackagingRefused) as refused:
        fetch(hub, length=length)
    return str(refused.value)


def test_a_file_is_read_at_its_commit_by_nobody_in_particular(hub: FakeHub) -> None:
    assert fetch(hub) == CONTENT

    ((path, headers),) = hub.requests
    assert path == PATH
    assert set(headers) == {"host", "accept-encoding", "user-agent"}


def test_a_connection_that_breaks_is_taken_up_where_it_broke(hub: FakeHub) -> None:
    hub.script = [Answer(cut=3000), Answer(cut=2000)]

    assert fetch(hub) == CONTENT
    assert hub.header("Range") == [None, "bytes=3000-", "bytes=5000-"]


def test_a_server_without_ranges_is_read_again_and_nothing_comes_twice(hub: FakeHub) -> None:
    hub.script = [Answer(cut=3000), Answer(ranges=False)]

    assert fetch(hub) == CONTENT


def test_a_connection_may_break_as_often_as_it_gets_on(hub: FakeHub) -> None:
    hub.script = [Answer(cut=1000)] * (TRIES + 3)

    assert fetch(hub) == CONTENT


@pytest.mark.parametrize("headers", [{"Retry-After": "77"}, {"RateLimit": '"resolvers";r=0;t=77'}])
def test_a_limit_is_kept_for_as_long_as_the_hub_asks(
    hub: FakeHub, pauses: list[float], headers: dict[str, str]
) -> None:
    hub.script = [Answer(429, headers=headers)]

    assert fetch(hub) == CONTENT
    assert [77 < pause <= 80 for pause in pauses] == [True]


def test_a_hub_that_is_overloaded_is_asked_again_later_each_time(hub: FakeHub, pauses: list[float]) -> None:
    hub.script = [Answer(503), Answer(502), Answer(500, headers={"Retry-After": "soon"})]

    assert fetch(hub) == CONTENT
    assert pauses == sorted(pauses)
    assert len(pauses) == 3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(429), "limits how much it gives (429); deploy again later, give a mirror as `endpoint`"),
        (Answer(503), "is not able to now (503); deploy again"),
        (Answer(418), "answered 418; deploy again"),
        (Answer(length=False, ranges=False, cut=5), "it ended after 5 of 10240 bytes"),
    ],
)
def test_a_hub_that_never_gets_on_is_left_after_a_few_tries(hub: FakeHub, answer: Answer, said: str) -> None:
    hub.otherwise = answer

    text = refusal(hub)

    assert said in text
    assert f"{TRIES} times in a row" in text


def test_a_limit_of_an_hour_is_not_waited_for(hub: FakeHub, pauses: list[float]) -> None:
    hub.otherwise = Answer(429, headers={"Retry-After": "3600"})

    assert "wants 3600 s; deploy again later" in refusal(hub)
    assert pauses == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            Answer(401),
            "give Q8_0/m.gguf of owner/model at revision {revision} to everyone (401): the repository",
        ),
        (Answer(403), "gated, private or not there; put the model into a bucket and use S3Gguf, or beside the app and"),
        (Answer(404), "has no Q8_0/m.gguf of owner/model at revision {revision} (404): correct the pin"),
        (Answer(body=b"<html>", headers={"Content-Type": "text/html; charset=utf-8"}), "but a web page (text/html)"),
        (Answer(body=b"version https://git-lfs"), "has 23 bytes, the pin says 10240"),
        (Answer(206, headers={"Content-Range": "bytes 5-9/10"}), "in a range that nobody asked for"),
        (Answer(302, headers={"Location": "http://cdn.your-company.test/m"}), "cdn.your-company.test/m, which is not"),
        (Answer(302, headers={"Location": "file:///etc/passwd"}), "redirected to file:///etc/passwd, which is not"),
    ],
)
def test_an_answer_that_no_try_can_mend_is_refused_at_once(hub: FakeHub, answer: Answer, said: str) -> None:
    hub.otherwise = answer

    assert said.format(revision=REVISION) in refusal(hub)
    assert len(hub.requests) == 1


def test_a_file_that_was_replaced_while_it_was_read_is_refused(hub: FakeHub) -> None:
    hub.script = [Answer(cut=3000), Answer(body=CONTENT[:9000])]

    assert "has 9000 bytes, the pin says 10240" in refusal(hub)


def test_a_file_that_ends_where_it_broke_is_refused(hub: FakeHub) -> None:
    hub.script = [Answer(cut=3000), Answer(body=CONTENT[:3000])]

    assert "has not the pinned 10240 bytes, but at most 3000" in refusal(hub)


def test_a_file_that_is_longer_than_its_pin_is_not_read_on(hub: FakeHub) -> None:
    hub.otherwise = Answer(length=False)

    assert "goes on after the pinned 100 bytes" in refusal(hub, length=100)


def test_a_redirect_to_another_host_is_followed_again_at_every_try(hub: FakeHub, elsewhere: FakeHub) -> None:
    hub.otherwise = Answer(302, headers={"Location": f"{elsewhere.url}/blob"})
    elsewhere.script = [Answer(cut=3000), Answer(403)]  # cut, then the link has expired

    assert fetch(hub) == CONTENT
    assert len(hub.requests) == 3
    assert elsewhere.header("Range") == [None, "bytes=3000-", "bytes=3000-"]


def test_a_repository_with_a_new_name_is_found(hub: FakeHub) -> None:
    moved = PATH.replace("owner", "new-owner")
    hub.files[moved] = CONTENT
    hub.script = [Answer(307, headers={"Location": moved})]

    assert fetch(hub) == CONTENT


def test_a_circle_of_redirects_ends(hub: FakeHub) -> None:
    hub.otherwise = Answer(301, headers={"Location": PATH})

    assert "was redirected over 5 times" in refusal(hub)


def test_a_hub_that_cannot_be_reached_is_named(hub: FakeHub) -> None:
    with FakeHub() as gone:
        pass

    text = refusal(gone)

    assert f"{gone.url.removeprefix('http://')} was not reached" in text
    assert "has the build a way to the internet?" in text
