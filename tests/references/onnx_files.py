"""Tiny ONNX files, written byte by byte (field numbers of onnx.proto3), so that tests need no package onnx."""

from __future__ import annotations

import struct
from collections.abc import Sequence

FLOAT, INT64 = 1, 7


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(_field(1, _field(1, d) if isinstance(d, int) else _field(2, d)) for d in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, dims)))


def tensor(name: str, shape: Sequence[int], numbers: Sequence[float]) -> bytes:
    dims = b"".join(_field(1, d) for d in shape)
    return dims + _field(2, FLOAT) + _field(8, name) + _field(9, struct.pack(f"<{len(numbers)}f", *numbers))


def external(name: str, shape: Sequence[int], location: str) -> bytes:
    """A tensor whose numbers are in another file, as torch writes them by default."""
    dims = b"".join(_field(1, d) for d in shape)
    place = _field(13, _field(1, "location") + _field(2, location))
    return dims + _field(2, FLOAT) + _field(8, name) + place + _field(14, 1)


def node(kind: str, inputs: Sequence[str], output: str, *attributes: bytes) -> bytes:
    names = b"".join(_field(1, name) for name in inputs) + _field(2, output)
    return names + _field(4, kind) + b"".join(_field(5, attribute) for attribute in attributes)


def integer(name: str, number: int) -> bytes:
    return _field(1, name) + _field(3, number) + _field(20, 2)


def model(
    nodes: Sequence[bytes], inputs: Sequence[bytes], output: bytes, tensors: Sequence[bytes] = ()
) -> bytes:
    graph = b"".join(_field(1, item) for item in nodes) + _field(2, "graph")
    graph += b"".join(_field(5, item) for item in tensors)
    graph += b"".join(_field(11, item) for item in inputs) + _field(12, output)
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))


def mean_colors(
    height: int | str = "H",
    width: int | str = "W",
    weights: Sequence[float] = (1, 0, 0, 1, 0, 0),
    elsewhere: str = "",
) -> bytes:
    """Logits (B, 2): a linear map (3, 2) of the picture's mean color, which may be in another file."""
    nodes = [
        node("GlobalAveragePool", ["pictures"], "mean"),
        node("Flatten", ["mean"], "flat", integer("axis", 1)),
        node("MatMul", ["flat", "weights"], "logits"),
    ]
    inputs = [value("pictures", FLOAT, ["B", 3, height, width])]
    kept = external("weights", (3, 2), elsewhere) if elsewhere else tensor("weights", (3, 2), weights)
    return model(nodes, inputs, value("logits", FLOAT, ["B", 2]), [kept])


def with_question() -> bytes:
    """Logits (B, 2): the mean color's red and green, plus the question's first two numbers."""
    nodes = [
        node("GlobalAveragePool", ["pictures"], "mean"),
        node("Flatten", ["mean"], "flat", integer("axis", 1)),
        node("MatMul", ["flat", "weights"], "colors"),
        node("Cast", ["question"], "numbers", integer("to", FLOAT)),
        node("Add", ["colors", "numbers"], "logits"),
    ]
    inputs = [value("pictures", FLOAT, ["B", 3, "H", "W"]), value("question", INT64, ["B", 2])]
    weights = tensor("weights", (3, 2), (1, 0, 0, 1, 0, 0))
    return model(nodes, inputs, value("logits", FLOAT, ["B", 2]), [weights])
