"""Reading a header that may lie: every read is bounded by what the file can still hold, and refused with its offset."""

from __future__ import annotations

import struct
from typing import BinaryIO

HEADER_LIMIT_BYTES = 64 << 20
"""Most bytes a header may have. The largest vocabulary known (262,144 tokens, 514,906 merges) needs about 17 MB."""

ARRAY_STRINGS_LIMIT = 3 << 19
"""Most strings all arrays of a header may have together, twice what the largest vocabulary known has. Reading their
lengths one by one is what takes time."""

_READ_BYTES = 256 << 10
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class GgufRefused(ValueError):
    """The bytes are not a GGUF that may be used; the text says where, what was found and what is allowed."""

    def __init__(self, offset: int, found: str, allowed: str) -> None:
        super().__init__(f"GGUF refused at byte {offset}: found {found}; allowed is {allowed}")
        self.offset = offset


class Cursor:
    """A position in a stream of known length that only moves forward.

    Parameters
    ----------
    stream:
        Anything with `read`; it need not be seekable, so an HTTP body will do. Its position is byte 0 of the file.
    file_bytes:
        The length of the whole file, which bounds every count and length that the header claims.
    """

    def __init__(self, stream: BinaryIO, file_bytes: int) -> None:
        self._stream = stream
        self._file_bytes = file_bytes
        self._buffer = b""
        self._position = 0
        self._buffer_offset = 0
        self._array_strings = 0

    @property
    def offset(self) -> int:
        """Bytes from the start of the file."""
        return self._buffer_offset + self._position

    @property
    def remaining(self) -> int:
        """Bytes from here to the end of the file."""
        return self._file_bytes - self.offset

    def u32(self, what: str) -> int:
        """Read an unsigned 32-bit integer."""
        return int(_U32.unpack(self.take(4, what))[0])

    def u64(self, what: str) -> int:
        """Read an unsigned 64-bit integer."""
        return int(_U64.unpack(self.take(8, what))[0])

    def take(self, count: int, what: str) -> bytes:
        """Read `count` bytes, which the caller has bounded."""
        self._allow(count, what)
        held = len(self._buffer) - self._position
        if held < count:
            self._fill(count - held, what)
        start = self._position
        self._position += count
        return self._buffer[start : self._position]

    def skip(self, count: int, what: str) -> None:
        """Pass over `count` bytes without keeping them."""
        self._allow(count, what)
        while (held := len(self._buffer) - self._position) < count:
            count -= held
            self._position = len(self._buffer)
            self._fill(1, what)
        self._position += count

    def length(self, limit: int, what: str) -> int:
        """Read the 64-bit length of a string and bound it by `limit` and by the bytes that are left."""
        start = self.offset
        length = self.u64(f"length of {what}")
        if length > min(limit, self.remaining):
            raise GgufRefused(
                start, f"{what} of {length} bytes", f"at most {limit}, and {self.remaining} bytes of the file are left"
            )
        return length

    def text(self, limit: int, what: str) -> str:
        """Read a string of at most `limit` bytes."""
        length = self.length(limit, what)
        start = self.offset
        raw = self.take(length, what)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            byte = raw[error.start]
            raise GgufRefused(start + error.start, f"byte 0x{byte:02x} in {what}", "UTF-8 text") from None

    def skip_string(self, what: str) -> None:
        """Pass over one string."""
        self.skip(self.length(HEADER_LIMIT_BYTES, what), what)

    def skip_strings(self, count: int, what: str) -> None:
        """Pass over the strings of an array; no list is built, only lengths are read."""
        self._array_strings += count
        if self._array_strings > ARRAY_STRINGS_LIMIT:
            found = f"{what} with {count} strings"
            raise GgufRefused(self.offset, found, f"at most {ARRAY_STRINGS_LIMIT} strings in all arrays together")
        unpack = _U64.unpack_from
        while count:
            buffer, position, end = self._buffer, self._position, len(self._buffer)
            # A vocabulary is most of a header: this loop is what its time goes into, so it calls nothing but unpack.
            last_length = end - 8
            passed = 0
            for passed in range(count):  # noqa: B007 - the number of strings passed is what the loop is for
                if position > last_length:
                    break
                after = position + 8 + unpack(buffer, position)[0]
                if after > end:
                    break
                position = after
            else:
                passed = count
            self._position = position
            count -= passed
            if count:
                self.skip_string(f"string in {what}")
                count -= 1

    def _allow(self, count: int, what: str) -> None:
        if count > self.remaining:
            raise GgufRefused(
                self.offset,
                f"the file's end {self.remaining} bytes on, in {what}",
                f"a whole file: this needs {count} bytes more of the {self._file_bytes} it has",
            )
        if self.offset + count > HEADER_LIMIT_BYTES:
            raise GgufRefused(
                self.offset, f"{what} beyond the header's limit", f"a header of {HEADER_LIMIT_BYTES} bytes"
            )

    def _fill(self, needed: int, what: str) -> None:
        """Drop what has been read and add at least `needed` bytes."""
        parts = [self._buffer[self._position :]]
        start = self.offset
        end = start + len(parts[0])
        until = end + needed
        while end < until:
            chunk = self._stream.read(min(max(_READ_BYTES, until - end), self._file_bytes - end))
            if not chunk:
                raise GgufRefused(end, f"the end of the bytes in {what}", f"all {self._file_bytes} bytes of the file")
            parts.append(chunk)
            end += len(chunk)
        self._buffer_offset = start
        self._position = 0
        self._buffer = b"".join(parts)
