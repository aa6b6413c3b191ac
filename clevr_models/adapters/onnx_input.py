"""How an ONNX file takes pictures: the order of its axes, its size, its kind of numbers, and how many at a time.

And whether its bytes name weights in another file, which onnxruntime would read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError

REAL = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}
WHOLE = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
COLORS = 3
FORM = "float (B, 3, H, W) or (B, H, W, 3)"
Pixels = NDArray[np.float32]


@dataclass(frozen=True)
class PictureInput:
    """The file's input for pictures.

    `batch` is how many it takes at a time: its own number if that is fixed, otherwise 1, so that no row depends on
    another. `size` is its height and width, None where any will do.
    """

    name: str
    dtype: type
    batch: int
    is_channels_last: bool
    size: tuple[int | None, int | None]

    def pieces(self, pictures: Pixels) -> Iterator[tuple[NDArray[Any], int]]:
        """Pictures (B, H, W, 3) as the file takes them, and how many of a piece are real: the last is filled up."""
        for begin in range(0, len(pictures), self.batch):
            piece = pictures[begin : begin + self.batch]
            filled = piece if len(piece) == self.batch else np.resize(piece, (self.batch, *piece.shape[1:]))
            yield self._fed(filled), len(piece)

    def _fed(self, pictures: Pixels) -> NDArray[Any]:
        """In its size, resized like Pillow's bicubic, with its order of axes and its numbers."""
        pixels = np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))
        height, width = self._wanted(*pixels.shape[2:])
        if pixels.shape[2:] != (height, width):
            import torch

            from trex.clevr_models.bicubic import resize_8bit

            resized = resize_8bit(torch.from_numpy(pixels), height, width) / 255
            pixels = resized.float().numpy()
        ordered = pixels.transpose(0, 2, 3, 1) if self.is_channels_last else pixels
        return np.ascontiguousarray(ordered, dtype=self.dtype)

    def _wanted(self, high: int, wide: int) -> tuple[int, int]:
        """The size for a picture of this size; where one side is fixed, the other keeps the shape."""
        height, width = self.size
        if height is None and width is None:
            return high, wide
        return (
            height if height is not None else max(1, round(high * (width or wide) / wide)),
            width if width is not None else max(1, round(wide * (height or high) / high)),
        )


@dataclass(frozen=True)
class QuestionInput:
    """The file's input for a question's numbers, with its own length if that is fixed."""

    name: str
    dtype: type
    length: int | None

    def fed(self, numbers: NDArray[np.int64], batch: int) -> NDArray[Any]:
        """The question (length,) for each picture of a piece."""
        return np.repeat(numbers[None], batch, axis=0).astype(self.dtype)


def read_inputs(
    where: str, inputs: Sequence[Any], has_words: bool
) -> tuple[PictureInput, QuestionInput | None]:
    """The inputs of a session; InputError unless they are pictures and, if the card has words, a question."""
    pictures = [item for item in inputs if item.type in REAL and len(item.shape) == 4]
    questions = [item for item in inputs if item.type in WHOLE and len(item.shape) == 2]
    found = [(item.type, item.shape) for item in inputs]
    if len(pictures) != 1 or len(questions) != has_words or len(inputs) != 1 + has_words:
        raise InputError(
            f"{where} takes {found}; it must take pictures, {FORM}"
            + (
                ", and a question, int64 (B, length)"
                if has_words
                else " as its only input, as its card has no words"
            )
        )
    picture = _picture_input(where, pictures[0])
    if not has_words:
        return picture, None
    request = questions[0]
    return picture, QuestionInput(request.name, WHOLE[request.type], _fixed(request.shape[1]))


def _picture_input(where: str, given: Any) -> PictureInput:
    shape = [_fixed(length) for length in given.shape]
    is_first = shape[1] == COLORS or (shape[1] is None and shape[3] != COLORS)
    is_last = not is_first and shape[3] in (COLORS, None)
    if not is_first and not is_last:
        raise InputError(
            f"{where} takes pictures {tuple(given.shape)}, of no 3 channels; it must take {FORM}: repeat or mix colors "
            "inside of it"
        )
    size = (shape[1], shape[2]) if is_last else (shape[2], shape[3])
    return PictureInput(given.name, REAL[given.type], shape[0] or 1, is_last, size)


def _fixed(length: object) -> int | None:
    """A length that the file fixes; None for a name, nothing, or the 0 and -1 of some exporters."""
    return length if isinstance(length, int) and length > 0 else None


# Field numbers are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, the encoding is that of
# https://protobuf.dev/programming-guides/encoding.
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
