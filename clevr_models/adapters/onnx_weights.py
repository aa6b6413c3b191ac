"""Finds tensors of an ONNX file whose numbers are in another file, from its bytes: onnxruntime would read that file.

Field numbers are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, the encoding is that of
https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

MODEL, TRAINING, GRAPH, FUNCTION, NODE, ATTRIBUTE, SPARSE, TENSOR = range(8)
# For each kind of message, the fields that hold messages in which a tensor may be.
PARTS: Mapping[int, Mapping[int, int]] = {
    MODEL: {7: GRAPH, 20: TRAINING, 25: FUNCTION},
    TRAINING: {1: GRAPH, 2: GRAPH},
    GRAPH: {1: NODE, 5: TENSOR, 15: SPARSE},
    FUNCTION: {7: NODE, 11: ATTRIBUTE},
    NODE: {5: ATTRIBUTE},
    ATTRIBUTE: {5: TENSOR, 6: GRAPH, 10: TENSOR, 11: GRAPH, 22: SPARSE, 23: SPARSE},
    SPARSE: {1: TENSOR, 2: TENSOR},
    TENSOR: {},
}
EXTERNAL_DATA, DATA_LOCATION, EXTERNAL = 13, 14, 1  # of TensorProto
KEY, VALUE, LOCATION = 1, 2, b"location"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
LONGEST_VARINT = 10  # bytes


def external_file(data: bytes) -> str | None:
    """The file that the first tensor with numbers elsewhere names, None if all are here; ValueError for damaged bytes.

    Looks into graphs inside of nodes, into functions, and into sparse tensors.
    """
    pending = [(MODEL, memoryview(data))]
    while pending:
        kind, message = pending.pop()
        fields = list(_fields(message))
        if kind == TENSOR and (DATA_LOCATION, EXTERNAL) in fields:
            return _location(fields)
        parts = PARTS[kind]
        pending += [
            (parts[number], value)
            for number, value in fields
            if number in parts and not isinstance(value, int)
        ]
    return None


def _location(fields: list[tuple[int, int | memoryview]]) -> str:
    """The file's name among a tensor's external data, "" if it names none."""
    for number, entry in fields:
        if number == EXTERNAL_DATA and not isinstance(entry, int):
            pair = {key: bytes(value) for key, value in _fields(entry) if not isinstance(value, int)}
            if pair.get(KEY) == LOCATION:
                return pair.get(VALUE, b"").decode(errors="replace")
    return ""


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field of a message; numbers of fixed length are left out."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire not in (FIXED64, BYTES, FIXED32):
            raise ValueError("it is damaged")
        length, at = _varint(message, at) if wire == BYTES else (8 if wire == FIXED64 else 4, at)
        end = at + length
        if end > len(message):
            raise ValueError("it is cut off, or damaged")
        if wire == BYTES:
            yield number, message[at:end]
        at = end


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """The number at a place, and the place after it."""
    found = 0
    for place, byte in enumerate(message[at : at + LONGEST_VARINT]):
        found |= (byte & 127) << (7 * place)
        if byte < 128:
            return found, at + place + 1
    raise ValueError("it is cut off, or damaged")
