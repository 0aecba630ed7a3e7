"""One input file as a stream of bytes: opened, decompressed, turned into UTF-8, counted.

Compression is recognised by the first bytes and not by the name, since logs are renamed. What
cannot be a log is refused here in one sentence. A pipe is copied to a temporary file, because
a log may have to be read twice.
"""

from __future__ import annotations

import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kvaudit.core.errors import InputError
from kvaudit.core.scratch import room_for

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK_BYTES = 1 << 20
HEAD_BYTES = 1 << 20
"""How much is looked at to tell what a file is."""

# First bytes of files that people hand over by mistake, and what they are.
_NOT_LOGS = (
    (b"\x80\x02", "a Python pickle, which is not opened because that would run its code"),
    (b"\x80\x03", "a Python pickle, which is not opened because that would run its code"),
    (b"\x80\x04", "a Python pickle, which is not opened because that would run its code"),
    (b"\x80\x05", "a Python pickle, which is not opened because that would run its code"),
    (b"\x1f\x8b", "compressed twice; decompress it once"),
    (b"\x28\xb5\x2f\xfd", "compressed twice; decompress it once"),
    (b"<!DOCTYPE", "a web page"),
    (b"<html", "a web page"),
    (b"<?xml", "an XML document"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive or an Office document; unpack it first"),
    (b"SQLite format 3\x00", "a SQLite database; export the table as CSV or JSON lines"),
    (b"BZh", "compressed with bzip2; decompress it, or use gzip or zstd"),
    (b"\xfd7zXZ\x00", "compressed with xz; decompress it, or use gzip or zstd"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF", "an HDF5 file"),
    (b"ARROW1", "an Arrow file; write it as Parquet"),
    (b"ORC", "an ORC file; write it as Parquet"),
    (b"PAR1", "a Parquet file inside a compressed one; decompress it"),
    (b"Obj\x01", "an Avro file; write it as Parquet or JSON lines"),
)
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class Source:
    """A file to read from; `chunks` starts at the beginning every time it is called."""

    def __init__(self, path: Path, name: str) -> None:
        """Take a regular file, and the name to use for it in messages."""
        self.path = path
        self.name = name
        self.size_bytes = path.stat().st_size
        self.bytes_read = 0
        """Bytes taken from the file so far, before decompression."""
        self.bytes_out = 0
        """Bytes handed on so far."""

    def magic(self) -> bytes:
        """Return the file's first four bytes, as they are on disk."""
        with self.path.open("rb") as file:
            return file.read(4)

    def head(self) -> tuple[bytes, bool]:
        """Return the beginning of the text, and whether that is all of it."""
        parts: list[bytes] = []
        for chunk in self.chunks():
            parts.append(chunk)
            if sum(map(len, parts)) >= HEAD_BYTES:
                return b"".join(parts), False
        return b"".join(parts), True

    def chunks(self) -> Iterator[bytes]:
        """Yield the text in UTF-8, without a byte order mark.

        Raises `InputError` where the file is binary, damaged, or cut off while compressed.
        """
        self.bytes_read = self.bytes_out = 0
        chunks = self._raw()
        first = next(chunks, b"")
        for unpack in (_gunzip, _unzstd):
            if first.startswith(_MAGIC[unpack]):
                chunks = unpack(_joined(first, chunks), self.name)
                first = next(chunks, b"")
                break
        for chunk in self._as_utf8(first, chunks):
            self.bytes_out += len(chunk)
            yield chunk

    def stored(self) -> Iterator[bytes]:
        """Yield the bytes of the file as they are on disk."""
        with self.path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    def _raw(self) -> Iterator[bytes]:
        for chunk in self.stored():
            self.bytes_read += len(chunk)
            yield chunk

    def _as_utf8(self, first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
        if encoding := _UTF_16.get(first[:2]):
            yield from _recoded(encoding, first[2:], chunks)
            return
        if first.startswith(b"\xef\xbb\xbf"):
            first = first[3:]
        for magic, what in _NOT_LOGS:
            if first.startswith(magic):
                raise InputError(f"{self.name} is {what}; kvaudit reads JSON, CSV and Parquet logs")
        if first[257:262] == b"ustar":
            raise InputError(f"{self.name} is a tar archive; unpack it and name the logs in it")
        # Half of UTF-16 text in a Western language is NUL bytes; binary files are full of them.
        if first[:4096].count(0) * 4 > len(first[:4096]):
            raise InputError(
                f"{self.name} is binary, or UTF-16 without a byte order mark; "
                "kvaudit reads UTF-8 text, gzip, zstd and Parquet"
            )
        yield from _joined(first, chunks)


def open_source(path: Path) -> Source:
    """Open a log; ``-`` is the standard input. Raises `InputError` where that cannot be."""
    name = "standard input" if str(path) == "-" else str(path)
    try:
        if str(path) == "-":
            return _copied(sys.stdin.buffer, name)
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(
                f"{name} is a folder; name the log files in it, for example {name}/*.jsonl"
            )
        with path.open("rb") as file:
            return Source(path, name) if stat.S_ISREG(mode) else _copied(file, name)
    except FileNotFoundError:
        raise InputError(f"{name} does not exist; check the path") from None
    except PermissionError:
        raise InputError(f"{name} may not be read by this user; check its permissions") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from None


def _copied(stream: IO[bytes], name: str) -> Source:
    with (
        room_for(f"a copy of {name}, which may have to be read twice"),
        tempfile.NamedTemporaryFile(prefix="kvaudit-", delete=False) as copy,
    ):
        path = Path(copy.name)
        try:
            shutil.copyfileobj(stream, copy, CHUNK_BYTES)
            copy.flush()
        except BaseException:
            path.unlink()
            raise
    source = Source(path, name)
    weakref.finalize(source, path.unlink, missing_ok=True)
    return source


def _joined(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _recoded(encoding: str, first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    import codecs

    # A damaged character becomes U+FFFD: UTF-16 logs come from Windows consoles, and one bad
    # character in them is no reason to lose the line.
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    for chunk in _joined(first, chunks):
        yield decoder.decode(chunk).encode()
    yield decoder.decode(b"", final=True).encode()


def _gunzip(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    import zlib

    return _unpacked(chunks, lambda: zlib.decompressobj(31), zlib.error, "gzip", name)


def _unzstd(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    from kvaudit.core.extras import load

    zstandard = load("zstandard", extra="replay")
    # The largest window that the command line tool writes with --long=31.
    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 31)
    return _unpacked(chunks, unpacker.decompressobj, zstandard.ZstdError, "zstd", name)


def _unpacked(
    chunks: Iterator[bytes],
    start: Callable[[], Any],
    failure: type[Exception],
    kind: str,
    name: str,
) -> Iterator[bytes]:
    """Decompress member after member; a member may begin in the middle of a chunk."""
    member: Any = None
    for chunk in chunks:
        rest = chunk
        while rest:
            if member is None:
                # Tapes and block devices pad an archive with zeros.
                if not rest.strip(b"\x00"):
                    break
                member = start()
            try:
                text = member.decompress(rest)
            except failure as error:
                raise InputError(
                    f"{name} is damaged: its {kind} data cannot be decompressed ({error}); "
                    "copy the file again"
                ) from None
            if text:
                yield text
            rest = b""
            if member.eof:
                rest, member = member.unused_data, None
    if member is not None:
        raise InputError(
            f"{name} is cut off: its {kind} data ends before the file does; copy the file again"
        )


_MAGIC = {_gunzip: b"\x1f\x8b", _unzstd: b"\x28\xb5\x2f\xfd"}
