"""What names a file of Hugging Face for good: a repository and one of its commits, never a branch or a tag."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

HUB = "https://huggingface.co"

_REPOSITORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,95}/[A-Za-z0-9_][A-Za-z0-9._-]{0,95}")
_REVISION = re.compile(r"[0-9a-f]{40}")
_FOLDER_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=@-]*")
_HOST = re.compile(r"[A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\]")
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")


def parse_repository(text: str, *, what: str = "repository") -> str:
    """The repository, as given; ValueError if it is not `owner/name`.

    Examples
    --------
    >>> parse_repository("bartowski/Qwen_Qwen3.5-4B-GGUF")
    'bartowski/Qwen_Qwen3.5-4B-GGUF'
    """
    if not isinstance(text, str) or not _REPOSITORY.fullmatch(text) or ".." in text:
        raise ValueError(f"{what} is {text!r:.250}: give owner/name, as in the address of the repository's page")
    return text


def parse_revision(text: str, *, what: str = "revision") -> str:
    """The commit; ValueError if it is anything that can move, or not whole.

    Examples
    --------
    >>> parse_revision("main")
    Traceback (most recent call last):
    ValueError: revision is 'main': give the full commit, 40 lower-case hex digits, since branches and tags move ...
    """
    if not isinstance(text, str) or not _REVISION.fullmatch(text):
        where = "the repository's page lists it under Files and versions, History"
        raise ValueError(
            f"{what} is {text!r:.120}: give the full commit, 40 lower-case hex digits, since branches and tags move "
            f"({where})"
        )
    return text


def parse_folder(text: str) -> str:
    """The folder of a repository, "" for its top; ValueError if it leads anywhere else.

    Examples
    --------
    >>> parse_folder("Q8_0")
    'Q8_0'
    """
    if not isinstance(text, str) or (text and not all(_FOLDER_PART.fullmatch(part) for part in text.split("/"))):
        raise ValueError(
            f"folder is {text!r:.250}: give a path within the repository, such as 'Q8_0', without '/' at either end"
        )
    return text


def parse_endpoint(text: str) -> str:
    """The address of the hub or a mirror, without `/` at its end; ValueError if it is not one to trust a file to.

    Examples
    --------
    >>> parse_endpoint("https://hub.your-company.test/")
    'https://hub.your-company.test'
    >>> parse_endpoint("http://hub.your-company.test")
    Traceback (most recent call last):
    ValueError: endpoint is 'http://hub.your-company.test': give https://…, without user, query or fragment ...
    """
    address = text.rstrip("/") if isinstance(text, str) else ""
    try:
        parts = urlsplit(address)
        host = parts.netloc.removesuffix(f":{parts.port}")
    except ValueError:
        parts, host = urlsplit(""), ""
    plain = _HOST.fullmatch(host) and _PATH.fullmatch(parts.path) and not parts.query and not parts.fragment
    if not plain or not (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(address))):
        allowed = "https://…, without user, query or fragment (http only for this machine itself)"
        raise ValueError(f"endpoint is {text!r:.250}: give {allowed}")
    return address


def is_loopback(url: str) -> bool:
    """Whether a URL leads to the machine that asks.

    Examples
    --------
    >>> is_loopback("http://127.0.0.1:8080/x"), is_loopback("http://127.0.0.1.your-company.test/x")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
