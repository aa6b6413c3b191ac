"""Tiny ONNX files, written byte by byte (field numbers of onnx.proto3), so that tests need no package onnx."""

from __future__ import annotations

import struct
from collections.abc import Sequence

FLOAT, INT64 = 1, 7


def _varint(number: int) -> bytes:
    out, number = b"", number % (1 << 64)
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


def external(name: str, shape: Sequence[int], location: str, *, offset: bool = False) -> bytes:
    """A tensor whose numbers are in another file, as torch writes them by default; with `offset`, that comes first."""
    dims = b"".join(_field(1, d) for d in shape)
    place = _field(13, _field(1, "offset") + _field(2, "0")) if offset else b""
    place += _field(13, _field(1, "location") + _field(2, location))
    return dims + _field(2, FLOAT) + _field(8, name) + place + _field(14, 1)


def node(kind: str, inputs: Sequence[str], output: str, *attributes: bytes) -> bytes:
    names = b"".join(_field(1, name) for name in inputs) + _field(2, output)
    return names + _field(4, kind) + b"".join(_field(5, attribute) for attribute in attributes)


def integers(name: str, numbers: Sequence[int]) -> bytes:
    return _field(1, name) + b"".join(_field(8, number) for number in numbers) + _field(20, 7)


def integer(name: str, number: int) -> bytes:
    return _field(1, name) + _field(3, number) + _field(20, 2)


def model(
    nodes: Sequence[bytes],
    inputs: Sequence[bytes],
    output: bytes | Sequence[bytes],
    tensors: Sequence[bytes] = (),
) -> bytes:
    graph = b"".join(_field(1, item) for item in nodes) + _field(2, "graph")
    graph += b"".join(_field(5, item) for item in tensors)
    outputs = [output] if isinstance(output, bytes) else output
    graph += b"".join(_field(11, item) for item in inputs) + b"".join(_field(12, item) for item in outputs)
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))


def mean_colors(
    height: int | str = "H",
    width: int | str = "W",
    weights: Sequence[float] = (1, 0, 0, 1, 0, 0),
    elsewhere: str = "",
    *,
    softmax: bool = False,
    batch: int | str = "B",
    channels_last: bool = False,
    kind: int = FLOAT,
    flat: bool = True,
    channels: int = 3,
) -> bytes:
    """Logits (B, 2): a linear map (3, 2) of the picture's mean color, which may be in another file.

    With `softmax`, their probabilities; without `flat` they keep two axes of one place, (B, 2, 1, 1). `batch` may be
    fixed, and pictures be (B, H, W, 3), or of another `kind` of numbers.
    """
    first = "pictures"
    before = []
    if kind != FLOAT:
        before.append(node("Cast", [first], "real", integer("to", FLOAT)))
        first = "real"
    if channels_last:
        before.append(node("Transpose", [first], "planes", integers("perm", (0, 3, 1, 2))))
        first = "planes"
    nodes = [
        *before,
        node("GlobalAveragePool", [first], "mean"),
        node("Flatten", ["mean"], "flat", integer("axis", 1)),
        node("MatMul", ["flat", "weights"], "logits" if flat and not softmax else "numbers"),
        *([node("Softmax", ["numbers"], "logits")] if softmax else []),
        *([] if flat else [node("Unsqueeze", ["numbers", "places"], "logits")]),
    ]
    form = [height, width, channels] if channels_last else [channels, height, width]
    inputs = [value("pictures", kind, [batch, *form])]
    kept = external("weights", (3, 2), elsewhere) if elsewhere else tensor("weights", (channels, 2), weights)
    tensors = [kept] if flat else [kept, places()]
    return model(nodes, inputs, value("logits", FLOAT, [batch, 2] if flat else [batch, 2, 1, 1]), tensors)


def one_inside() -> bytes:
    """Logits (B, 2) whose batch axis is free by name, and 1 in a constant of the graph, as a trace with one picture."""
    nodes = [
        node("GlobalAveragePool", ["pictures"], "mean"),
        node("Reshape", ["mean", "form"], "flat"),
        node("MatMul", ["flat", "weights"], "logits"),
    ]
    form = _field(1, 2) + _field(2, INT64) + _field(8, "form") + _field(9, struct.pack("<2q", 1, 3))
    inputs = [value("pictures", FLOAT, ["B", 3, "H", "W"])]
    return model(
        nodes, inputs, value("logits", FLOAT, ["B", 2]), [tensor("weights", (3, 2), (4, 0, 0, 4, 0, 0)), form]
    )


def with_label(*, alone: bool = False) -> bytes:
    """The most probable label first, int64 (B,), and then the logits (B, 2), as converted classifiers give them."""
    nodes = [
        node("GlobalAveragePool", ["pictures"], "mean"),
        node("Flatten", ["mean"], "flat", integer("axis", 1)),
        node("MatMul", ["flat", "weights"], "logits"),
        node("ArgMax", ["logits"], "label", integer("axis", 1), integer("keepdims", 0)),
    ]
    inputs = [value("pictures", FLOAT, ["B", 3, "H", "W"])]
    outputs = [value("label", INT64, ["B"])] + ([] if alone else [value("logits", FLOAT, ["B", 2])])
    return model(nodes, inputs, outputs, [tensor("weights", (3, 2), (4, 0, 0, 4, 0, 0))])


def places() -> bytes:
    """The axes 2 and 3, for Unsqueeze."""
    return _field(1, 2) + _field(2, INT64) + _field(8, "places") + _field(9, struct.pack("<2q", 2, 3))


def nested(elsewhere: str) -> dict[str, bytes]:
    """Models that name another file in a graph of a node, in a function, in a constant, or in a sparse tensor."""
    kept = external("weights", (3, 2), elsewhere)
    constant = node("Constant", [], "c", _field(1, "value") + _field(5, kept) + _field(20, 4))
    inner = _field(1, constant) + _field(2, "inner")
    branch = node("If", ["b"], "i", _field(1, "then_branch") + _field(6, inner) + _field(20, 5))
    branches = node("Own", ["b"], "i", _field(1, "graphs") + _field(11, inner) + _field(20, 10))
    sparse = _field(1, "sparse_value") + _field(22, _field(1, kept)) + _field(20, 11)
    output, inputs = value("logits", FLOAT, ["B", 2]), [value("pictures", FLOAT, ["B", 3, "H", "W"])]
    whole = model([], inputs, output)
    return {
        "constant": model([constant], inputs, output),
        "branch": model([branch], inputs, output),
        "branches": model([branches], inputs, output),
        "sparse attribute": model([node("Constant", [], "s", sparse)], inputs, output),
        "sparse initializer": whole + _field(7, _field(15, _field(1, kept))),
        "indices": whole + _field(7, _field(15, _field(2, kept))),
        "function": whole + _field(25, _field(1, "f") + _field(7, constant)),
        "function's default": whole + _field(25, _field(11, _field(1, "value") + _field(5, kept))),
        "training": whole + _field(20, _field(2, inner)),
        "offset first": model([], inputs, output, [external("weights", (3, 2), elsewhere, offset=True)]),
    }


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
