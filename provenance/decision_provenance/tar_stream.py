"""The regular files of a tar stream, one after the other; anything that readers could take in two ways is refused.

Source: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Header Block"; GNU tar manual, "Basic Tar Format", for
sizes over 8 GiB.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from decision_provenance.digest import CHUNK_BYTES
from decision_provenance.gzip_stream import ArchiveRefused

_BLOCK_BYTES = 512
_PAX_LIMIT_BYTES = 64 << 10
_END_LIMIT_BYTES = 1 << 20  # GNU tar fills up to a record, 10 KiB by default
_OCTAL = re.compile(rb" *([0-7]+)[ \0]*")
_OCTAL_LIMIT = 8**11
# Mode, owner, group, time, device: of no use here, but a reader that cannot read one may drop the member unsaid.
_OTHER_NUMBERS = (slice(100, 108), slice(108, 116), slice(116, 124), slice(136, 148), slice(329, 337), slice(337, 345))
_REGULAR = (b"0", b"\0")
_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"5": "a folder",
    b"6": "a FIFO",
    b"K": "a long link name of GNU tar",
    b"L": "a long name of GNU tar",
    b"S": "a sparse file",
    b"g": "a pax header for all members",
}
_PAX_IGNORED = {"atime", "comment", "ctime", "gid", "gname", "mtime", "uid", "uname"}


@dataclass(frozen=True)
class Member:
    """A regular file of the archive: its name and the length it declares."""

    name: str
    bytes: int


@dataclass(frozen=True)
class _Header:
    kind: bytes
    name: str
    bytes: int


class TarStream:
    """Reads members in order: `next_member`, then all of its `content`, then the next.

    Parameters
    ----------
    chunks:
        The unpacked archive. What its iterator raises passes through.

    Examples
    --------
    >>> import io, tarfile
    >>> written = io.BytesIO()
    >>> with tarfile.open(fileobj=written, mode="w") as archive:
    ...     archive.addfile(tarfile.TarInfo("empty.json"))
    >>> TarStream([written.getvalue()]).next_member()
    Member(name='empty.json', bytes=0)
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = b""
        self._position = 0

    def next_member(self) -> Member | None:
        """The next regular file, or None once the archive has ended as it must.

        Raises
        ------
        ArchiveRefused
            If something else comes.
        """
        header = self._next_header()
        if header is None:
            return None
        pax: dict[str, str] = {}
        if header.kind == b"x":
            pax = _pax_records(self._exactly(_pax_bytes(header)), header.bytes)
            header = self._next_header()
            if header is None or header.kind == b"x":
                raise ArchiveRefused("a pax header has no member of its own: write the archive anew")
        name = pax.get("path", header.name)
        if header.kind not in _REGULAR:
            kind = _KINDS.get(header.kind, f"of unknown type {header.kind!r}")
            raise ArchiveRefused(f"member {name!r:.220} is {kind}: only regular files are allowed")
        return Member(name, _agreed_size(name, header.bytes, pax.get("size")))

    def content(self, member: Member) -> Iterator[bytes]:
        """The member's bytes, at most a MiB at a time; all must be taken before `next_member` is called again."""
        left = member.bytes
        while left:
            piece = self._some(min(left, CHUNK_BYTES))
            if not piece:
                raise ArchiveRefused(
                    f"member {member.name} ends after {member.bytes - left} of its {member.bytes} bytes: "
                    "upload the archive again"
                )
            left -= len(piece)
            yield piece
        self._exactly(-member.bytes % _BLOCK_BYTES)

    def _next_header(self) -> _Header | None:
        block = self._exactly(_BLOCK_BYTES)
        if any(block):
            return _read_header(block)
        if any(self._exactly(_BLOCK_BYTES)):
            raise ArchiveRefused("it goes on after an empty block: write the archive anew")
        self._refuse_more()
        return None

    def _refuse_more(self) -> None:
        """After the end only zeros may fill up the last record: readers differ in whether they look further."""
        filled = 0
        while piece := self._some(CHUNK_BYTES):
            filled += len(piece)
            if any(piece) or filled > _END_LIMIT_BYTES:
                found = "more data" if any(piece) else f"over {_END_LIMIT_BYTES} zeros"
                raise ArchiveRefused(f"{found} follow the end of its last member: write the archive anew")

    def _exactly(self, count: int) -> bytes:
        pieces = []
        while count:
            piece = self._some(count)
            if not piece:
                raise ArchiveRefused("it ends without the two empty blocks that end an archive: upload it again")
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def _some(self, count: int) -> bytes:
        """One to `count` bytes; none at the end of the stream."""
        while self._position == len(self._held):
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._held, self._position = chunk, 0
        piece = self._held[self._position : self._position + count]
        self._position += len(piece)
        return piece


def _read_header(block: bytes) -> _Header:
    stated = _octal(block[148:156], "checksum")
    if stated != sum(block) - sum(block[148:156]) + 8 * ord(" "):
        raise ArchiveRefused("a member's header is broken (its checksum is wrong): write the archive anew")
    for field in _OTHER_NUMBERS:
        if block[field].strip(b" \0"):
            _number(block[field], "header field")
    name = _ascii(block[:100])
    prefix = _ascii(block[345:500])
    return _Header(block[156:157], f"{prefix}/{name}" if prefix else name, _number(block[124:136], "size"))


def _number(field: bytes, what: str) -> int:
    # GNU's way for what the octal digits cannot hold: the highest bit set, the rest one number.
    return int.from_bytes(field[1:]) if field[0] == 0x80 else _octal(field, what)


def _octal(field: bytes, what: str) -> int:
    digits = _OCTAL.fullmatch(field)
    if digits is None:
        raise ArchiveRefused(f"a member's {what} is {field!r}, which is no octal number: write the archive anew")
    return int(digits[1], 8)


def _ascii(field: bytes) -> str:
    text = field.partition(b"\0")[0]
    if not text.isascii():
        raise ArchiveRefused(f"member {text!r:.220} has a name that is not ASCII: rename the file")
    return text.decode()


def _pax_bytes(header: _Header) -> int:
    if header.bytes > _PAX_LIMIT_BYTES:
        raise ArchiveRefused(f"a pax header has {header.bytes} bytes, allowed are {_PAX_LIMIT_BYTES}")
    return header.bytes + (-header.bytes % _BLOCK_BYTES)


def _pax_records(block: bytes, length: int) -> dict[str, str]:
    records: dict[str, str] = {}
    rest = block[:length]
    while rest:
        stated = rest.partition(b" ")[0]
        count = int(stated) if re.fullmatch(rb"[1-9][0-9]{0,5}", stated) else 0
        record, rest = rest[:count], rest[count:]
        name, equals, value = record[len(stated) + 1 : -1].partition(b"=")
        if len(record) != count or not record.endswith(b"\n") or not equals or not record.isascii():
            raise ArchiveRefused(f"a pax header is broken at {record[:80] or stated[:80]!r}: write the archive anew")
        key = name.decode()
        if key in records or key not in {"path", "size"} | _PAX_IGNORED:
            what = "twice" if key in records else "which is not allowed"
            raise ArchiveRefused(f"a pax header has {key!r:.80} {what}: write the archive without it")
        records[key] = value.decode()
    return records


def _agreed_size(name: str, in_header: int, in_pax: str | None) -> int:
    """The member's length. Two that differ would be two different files for two readers."""
    if in_pax is None:
        return in_header
    if not re.fullmatch(r"(0|[1-9][0-9]{0,18})", in_pax):
        raise ArchiveRefused(f"member {name!r:.220} has the pax size {in_pax!r:.80}, which is no length")
    # The header of a member that is too long for it holds 0.
    if in_header != (int(in_pax) if int(in_pax) < _OCTAL_LIMIT else 0):
        raise ArchiveRefused(
            f"member {name!r:.220} has {in_header} bytes by its header and {in_pax} by its pax header: "
            "write the archive anew"
        )
    return int(in_pax)
