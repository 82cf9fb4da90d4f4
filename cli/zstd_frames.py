"""Zstandard frames, one behind the other: what a compressed log is packed as, and what of a torn or broken one can be read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard

MAGIC = b"\x28\xb5\x2f\xfd"
UNPACKED_BYTES_MAX = 2 * 1024**3
CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Frame:
    """What a frame holds; `problem` is why it is not all of it, else empty. A frame with a problem is the last."""

    content: bytes
    problem: str = ""


def is_compressed(path: Path) -> bool:
    """Does the file begin as a Zstandard frame?"""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def pack(contents: Iterable[bytes]) -> bytes:
    """Return a frame for each of the contents that is not empty."""
    packer = zstandard.ZstdCompressor(write_checksum=True)
    return b"".join(packer.compress(content) for content in contents if content)


def frames(raw: bytes, bytes_max: int = UNPACKED_BYTES_MAX) -> Iterator[Frame]:
    """Yield the frames of a file, as far as they can be unpacked, and to no more than `bytes_max`."""
    at = size = 0
    while at < len(raw):
        content, problem, at = _unpacked(memoryview(raw), at, bytes_max - size)
        size += len(content)
        yield Frame(content, problem)
        if problem:
            return


def _unpacked(raw: memoryview, at: int, bytes_max: int) -> tuple[bytes, str, int]:
    """The content of the frame that begins here, what is wrong with it, and where the next one begins."""
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    pieces: list[bytes] = []
    size = 0
    try:
        while at < len(raw) and not unpacker.eof:
            pieces.append(unpacker.decompress(raw[at : at + CHUNK_BYTES]))
            at = min(len(raw), at + CHUNK_BYTES) - len(unpacker.unused_data)
            size += len(pieces[-1])
            if size > bytes_max:
                return b"", f"it unpacks to more than {UNPACKED_BYTES_MAX:,} bytes", at
    except zstandard.ZstdError as error:
        return b"".join(pieces), f"a broken frame: {error}", at
    return b"".join(pieces), "" if unpacker.eof else "a torn frame at the end", at
