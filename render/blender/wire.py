"""Frames over a pipe between a renderer and its Blender process: a JSON header and raw bytes, checked by CRC-32."""

from __future__ import annotations

import json
import os
import select
import struct
import time
import zlib

Header = dict[str, object]
MAGIC = b"TRX1"
PREFIX = struct.Struct(">4sIII")  # magic, length of header, length of payload, CRC-32 of both
MAX_HEADER = 1 << 22
MAX_PAYLOAD = 1 << 28


class ChannelError(Exception):
    """The other side broke the protocol."""


class Closed(ChannelError):
    """The other side has closed the pipe: the process has ended."""


class Garbled(ChannelError):
    """The data are not a frame."""


class TimedOut(ChannelError):
    """Nothing arrived in time."""


def write_frame(fd: int, header: Header, *payload: bytes) -> None:
    """Write one whole frame; raises Closed if the reader is gone."""
    head = json.dumps(header).encode()
    crc = zlib.crc32(head)
    for part in payload:
        crc = zlib.crc32(part, crc)
    prefix = PREFIX.pack(MAGIC, len(head), sum(len(part) for part in payload), crc)
    try:
        for part in (prefix + head, *payload):
            _write_all(fd, memoryview(part))
    except BrokenPipeError as error:
        raise Closed("the pipe is closed") from error


def read_frame(fd: int, deadline: float | None = None) -> tuple[Header, bytearray]:
    """The next frame: header and payload. `deadline` is a time.monotonic() in seconds; None waits for ever.

    Raises Closed at the end of the stream, Garbled, or TimedOut.
    """
    magic, n_head, n_payload, crc = PREFIX.unpack(_read_exactly(fd, PREFIX.size, deadline))
    if magic != MAGIC or n_head > MAX_HEADER or n_payload > MAX_PAYLOAD:
        raise Garbled(f"no frame begins with {magic!r}, {n_head}, {n_payload}")
    head = _read_exactly(fd, n_head, deadline)
    payload = _read_exactly(fd, n_payload, deadline)
    if zlib.crc32(payload, zlib.crc32(head)) != crc:
        raise Garbled("a frame has a wrong checksum")
    return _header(bytes(head)), payload


def _header(data: bytes) -> Header:
    try:
        header = json.loads(data)
    except ValueError as error:
        raise Garbled(f"the header of a frame is not JSON: {data[:80]!r}") from error
    if not isinstance(header, dict):
        raise Garbled(f"the header of a frame is not a JSON object: {data[:80]!r}")
    return header


def _write_all(fd: int, data: memoryview) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _read_exactly(fd: int, size: int, deadline: float | None) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        if deadline is not None and not readable(fd, deadline):
            raise TimedOut("no answer in time")
        got = os.readv(fd, [view])
        if not got:
            raise Closed("the pipe is closed")
        view = view[got:]
    return data


def readable(fd: int, deadline: float) -> bool:
    """Whether data (or the end of the stream) arrive before the deadline."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000.0))
