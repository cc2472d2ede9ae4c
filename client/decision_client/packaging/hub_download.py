"""One file over HTTP: from where it broke off, as often as it takes, and from nowhere but where it may come from.

Source: RFC 9110, "Range Requests", "Redirection 3xx" and "Retry-After"; Hugging Face, "Hub rate limits", and the IETF's
draft-ietf-httpapi-ratelimit-headers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from time import sleep
from urllib.parse import urljoin, urlsplit

import urllib3
from urllib3.exceptions import HTTPError, InvalidHeader

from decision_client.packaging.errors import PackagingRefused
from decision_provenance.hub import is_loopback

TRIES = 6
"""How often in a row a try may bring nothing new. With the pauses between them, that is a minute and more."""

LONGEST_PAUSE_SECONDS = 300.0
"""What is asked for beyond that is not waited for: a build costs money by the minute, and a deploy ends it in 45."""

PIECE_BYTES = 64 << 10
"""Read at a time. A piece that did not come whole is lost."""

_AS_PINNED = "correct the pin, or give the file it names"
_CHECK_ENDPOINT = "is `endpoint` the address of Hugging Face or of a mirror?"
_REDIRECTS = 5
_MOVED = (301, 302, 303, 307, 308)
_TRY_AGAIN = (408, 425, 429, 500, 502, 503, 504)
# The hub says it in this way, of windows of five minutes.
_RATE_LIMIT = re.compile(r";\s*t=(\d{1,9})")
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


@dataclass(frozen=True)
class HubFile:
    """A file at one commit of a repository, and how long it must be; `path` is where it is in the repository."""

    endpoint: str
    repository: str
    revision: str
    path: str
    bytes: int

    @property
    def url(self) -> str:
        """Where the hub has it."""
        return f"{self.endpoint}/{self.repository}/resolve/{self.revision}/{self.path}"

    @property
    def host(self) -> str:
        """The hub's host, for messages."""
        return urlsplit(self.endpoint).netloc

    def __str__(self) -> str:
        return f"{self.path} of {self.repository} at revision {self.revision}"


class _Interrupted(Exception):
    """Another try may get on; `retry_after` is what the server asks to wait, in seconds, if it does."""

    def __init__(self, reason: str, *, advice: str = "deploy again", retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.advice = advice
        self.retry_after = retry_after


def download(file: HubFile, *, say: Callable[[str], None]) -> Generator[bytes, None, None]:
    """The file's bytes, in pieces.

    Parameters
    ----------
    file:
        What to fetch. Nothing that identifies anyone is sent, to the hub or to where it redirects.
    say:
        Takes one line about each interruption.

    Raises
    ------
    PackagingRefused
        If the file is not there, may not be read or has another length, or does not come in the end.
    """
    done, failures = 0, 0
    with urllib3.PoolManager(timeout=urllib3.Timeout(connect=10, read=60)) as http:
        while done < file.bytes:
            begun_at = done
            try:
                with closing(_open(file, done, http)) as body:
                    for chunk in _chunks(file, body, done):
                        done += len(chunk)
                        yield chunk
            except _Interrupted as interrupted:
                failures = 1 if done > begun_at else failures + 1
                _pause(file, interrupted, failures, say)


def _pause(file: HubFile, interrupted: _Interrupted, failures: int, say: Callable[[str], None]) -> None:
    """Wait before the next try, or refuse if there is to be none."""
    asked = interrupted.retry_after or 0.0
    if asked > LONGEST_PAUSE_SECONDS:
        raise PackagingRefused(f"{file} did not come: {interrupted}, and wants {asked:.0f} s; {interrupted.advice}")
    if failures >= TRIES:
        raise PackagingRefused(f"{file} did not come, {failures} times in a row: {interrupted}; {interrupted.advice}")
    # Spread, so that builds which were refused together do not come back together.
    seconds = asked + 2.0**failures * random.uniform(1.0, 1.5)  # noqa: S311 - no secret
    say(f"{file.path}: {interrupted}; goes on in {seconds:.0f} s")
    sleep(seconds)


def _chunks(file: HubFile, body: urllib3.BaseHTTPResponse, done: int) -> Generator[bytes, None, None]:
    """The file's bytes from `done` on; a server that knows no ranges starts from the beginning."""
    skip = 0 if body.status == 206 else done
    try:
        while chunk := body.read(PIECE_BYTES):
            kept = chunk[skip:]
            skip = max(0, skip - len(chunk))
            done += len(kept)
            if done > file.bytes:
                raise PackagingRefused(f"{file} goes on after the pinned {file.bytes} bytes: {_AS_PINNED}")
            if kept:
                yield kept
    except HTTPError as error:
        broke = f"the connection broke after {done} of {file.bytes} bytes ({type(error).__name__})"
        raise _Interrupted(broke) from error
    if done < file.bytes:
        raise _Interrupted(f"it ended after {done} of {file.bytes} bytes")


def _open(file: HubFile, offset: int, http: urllib3.PoolManager) -> urllib3.BaseHTTPResponse:
    """An answer with the file's bytes, from `offset` on or, if the server knows no ranges, from the beginning."""
    url = file.url
    for _ in range(_REDIRECTS + 1):
        answer = _get(url, offset, http)
        if answer.status not in _MOVED:
            try:
                _refuse_other_answers(file, answer, offset, url)
            except BaseException:
                answer.close()
                raise
            return answer
        answer.close()
        url = urljoin(url, answer.headers.get("Location", ""))
        _refuse_untrusted(file, url)
    raise PackagingRefused(f"{file} was redirected over {_REDIRECTS} times, at last to {url:.200}: {_CHECK_ENDPOINT}")


def _get(url: str, offset: int, http: urllib3.PoolManager) -> urllib3.BaseHTTPResponse:
    # A compressed answer would have neither the file's length nor its offsets.
    headers = {"Accept-Encoding": "identity", "User-Agent": "decision-endpoints"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    try:
        return http.request("GET", url, headers=headers, preload_content=False, redirect=False, retries=False)
    except HTTPError as error:
        raise _Interrupted(
            f"{urlsplit(url).netloc} was not reached ({error})",
            advice="has the build a way to the internet? If so, deploy again",
        ) from error


def _refuse_untrusted(file: HubFile, url: str) -> None:
    """Bytes come over https. Only a hub on this machine may lead on over http, and only to this machine."""
    here = is_loopback(file.endpoint) and is_loopback(url) and urlsplit(url).scheme == "http"
    if urlsplit(url).scheme != "https" and not here:
        raise PackagingRefused(f"{file} was redirected to {url:.200}, which is not https: {_CHECK_ENDPOINT}")


def _refuse_other_answers(file: HubFile, answer: urllib3.BaseHTTPResponse, offset: int, url: str) -> None:
    status = answer.status
    at_hub = urlsplit(url)[:2] == urlsplit(file.endpoint)[:2]
    if status in (200, 206):
        _refuse_other_content(file, answer, offset)
    elif status in _TRY_AGAIN:
        raise _refused_for_now(file, answer, url)
    elif status in (401, 403) and at_hub:
        raise PackagingRefused(
            f"{file.host} does not give {file} to everyone ({status}): the repository is gated, private or not there; "
            "put the model into a bucket and use S3Gguf, or beside the app and use LocalGguf"
        )
    elif status in (404, 410) and at_hub:
        raise PackagingRefused(f"{file.host} has no {file} ({status}): correct the pin")
    elif status == 416:
        raise PackagingRefused(f"{file} has not the pinned {file.bytes} bytes, but at most {offset}: {_AS_PINNED}")
    else:
        # Elsewhere a refusal is mostly that of a link which is no longer valid; the hub gives a fresh one.
        raise _Interrupted(f"{urlsplit(url).netloc} answered {status}")


def _refuse_other_content(file: HubFile, answer: urllib3.BaseHTTPResponse, offset: int) -> None:
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind == "text/html":
        raise PackagingRefused(
            f"{file} is not what came, but a web page ({kind}): {_CHECK_ENDPOINT} Does a proxy ask for a login?"
        )
    if answer.status == 206:
        found = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if not offset or found is None or int(found[1]) != offset:
            raise PackagingRefused(f"{file} came in a range that nobody asked for: {_CHECK_ENDPOINT}")
        length = found[2]
    else:
        length = answer.headers.get("Content-Length", "*")
    if length.isdecimal() and int(length) != file.bytes:
        raise PackagingRefused(f"{file} has {length} bytes, the pin says {file.bytes}: {_AS_PINNED}")


def _refused_for_now(file: HubFile, answer: urllib3.BaseHTTPResponse, url: str) -> _Interrupted:
    host, retry_after = urlsplit(url).netloc, _asked_pause(answer)
    if answer.status == 429:
        return _Interrupted(
            f"{host} limits how much it gives (429)",
            advice="deploy again later, give a mirror as `endpoint`, or put the model into a bucket and use S3Gguf",
            retry_after=retry_after,
        )
    return _Interrupted(f"{host} is not able to now ({answer.status})", retry_after=retry_after)


def _asked_pause(answer: urllib3.BaseHTTPResponse) -> float | None:
    try:
        asked = urllib3.Retry().get_retry_after(answer)
    except InvalidHeader:
        asked = None
    if asked is None and (until_reset := _RATE_LIMIT.search(answer.headers.get("RateLimit", ""))):
        asked = float(until_reset[1])
    return asked
