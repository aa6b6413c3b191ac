"""Bad weights, cards, checkpoints, zips, ONNX files and idx data."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from safetensors.torch import save

from benchmarks.bad_inputs.cases import Case, not_files, writing
from benchmarks.bad_inputs.queries import QUERY

SMALL = save({"a": torch.zeros(3)})
TENSORS: dict[str, bytes] = {
    "cut": SMALL[:-3],
    "a header without end": struct.pack("<Q", 1 << 60) + b"{}",
    "a nested header": struct.pack("<Q", 200_000) + b"[" * 200_000,
    "a header that is no object": struct.pack("<Q", 2) + b"[]",
    "offsets beyond the end": struct.pack("<Q", 60)
    + b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,99999]}}  ',
    "a pickle": pickle.dumps({"a": 1}),
    "other tensors": SMALL,
    "no tensor": save({}),
    "NaN": save({"a": torch.full((3,), float("nan"))}),
}
CARDS: dict[str, str | bytes] = {
    "no JSON": "{",
    "a list": "[]",
    "no sha256": "{}",
    "a sha256 of another": json.dumps({"sha256": "0" * 64}),
    "a sha256 that is a number": '{"sha256": 3}',
    "nested": "[" * 100_000,
    "5000 digits": '{"sha256": ' + "9" * 5000 + "}",
    "NaN": '{"sha256": NaN}',
    "too large": " " * (8 << 20) + "{}",
    "Latin-1": b'{"sha256": "\xe9"}',
}
ONNX_CARDS: dict[str, str] = {
    "labels of numbers": '{"labels": [1]}',
    "an unknown key": '{"lables": []}',
    "words that are a list": '{"words": []}',
    "a length of 10^30": '{"words": {"a": 1}, "length": ' + "1" + "0" * 30 + "}",
    "a length without words": '{"length": true}',
    "gives hope": '{"gives": "hope"}',
    "nested": "[" * 100_000,
    "NaN": "NaN",
}


class Grows:
    """Unpickled, it is a bytearray of 64 GiB."""

    def __reduce__(self) -> tuple[type[bytearray], tuple[int]]:
        return bytearray, (64 << 30,)


class Runs:
    """Unpickled, it runs code."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("executed",)


def checkpoints() -> Iterator[tuple[str, bytes]]:
    """Files that torch.load might be given."""
    good = _saved({"a": torch.zeros(3)})
    yield "a state of another model", good
    yield "cut", good[: len(good) // 2]
    yield "a number", _saved(3)
    yield "a list", _saved([torch.zeros(1)])
    yield "code", pickle.dumps(Runs())
    yield "a bytearray of 64 GiB", pickle.dumps(Grows(), protocol=2)
    yield "code in a zip", _repacked(good, {"data.pkl": pickle.dumps(Runs(), protocol=2)})
    yield "a bytearray of 64 GiB in a zip", _repacked(good, {"data.pkl": pickle.dumps(Grows(), protocol=2)})
    yield "a part that inflates to 3 GiB", _repacked(good, {"data/0": bytes(1 << 20)}, claiming=3 << 30)
    yield "a zip with a password", _locked(good)
    yield "an empty zip", _zip({})
    yield "a zip of another thing", _zip({"readme.txt": b"hello"})
    yield "the old format, cut", torch_legacy({"a": torch.zeros(9)})[:-20]
    yield "a shape of 10^15 numbers", _saved({"a": torch.zeros(1).expand(10**9)})
    yield "nested without end", b"\x80\x02" + b"(" * 1_000_000
    yield "a memo without end", b"\x80\x02j\xff\xff\xff\xff."
    yield "a long text that is not there", b"\x80\x02X\xff\xff\xff\x7fabc"


def zips() -> Iterator[tuple[str, bytes]]:
    """Archives in the place of models.zip."""
    name = "models/CLEVR/lstm.pt"
    good = _zip({name: _saved({"a": torch.zeros(3)})})
    yield "none of the models", _zip({"a.txt": b""})
    yield "a wrong model", good
    yield "cut", good[:-30]
    yield "damaged inside", good[:60] + b"\xff\xff\xff" + good[63:]
    yield "a password", _locked(good)
    yield "a member of 3 GiB", _claiming({name: bytes(1 << 20)}, name, 3 << 30)
    yield "a name that leads out", _zip({"../../lstm.pt": b"x"})
    yield "200,000 members", _zip({str(n): b"" for n in range(200_000)})
    yield "another method", good.replace(b"\x00\x00\x00\x00\x00\x00", b"\x00\x00\x63\x00\x00\x00", 1)


def idx() -> Iterator[tuple[str, bytes]]:
    """Files in the place of the training images."""
    header = bytes((0, 0, 8, 3)) + struct.pack(">3I", 2, 28, 28)
    yield "cut", header + bytes(99)
    yield "too long", header + bytes(9999)
    yield "sizes of 2^96", bytes((0, 0, 8, 3)) + b"\xff" * 12
    yield "floats", bytes((0, 0, 13, 3)) + struct.pack(">3I", 2, 28, 28) + bytes(9999)
    yield "labels", bytes((0, 0, 8, 1)) + struct.pack(">I", 2) + bytes(2)
    yield "no idx file", b"images"
    yield "other sizes", bytes((0, 0, 8, 3)) + struct.pack(">3I", 2, 32, 32) + bytes(2048)
    yield "no picture", bytes((0, 0, 8, 3)) + struct.pack(">3I", 0, 28, 28)
    yield "a bomb", gzip.compress(bytes(1 << 20)) * 300  # members one after the other: 300 MiB
    yield "a cut gzip", gzip.compress(header + bytes(1568))[:-9]
    yield "a gzip of noise", b"\x1f\x8b" + bytes(range(256))


def cases() -> Iterator[Case]:
    """Each met by the command that reads it first."""
    check = ("check", "query.toml", "--model")
    files: dict[str, str | bytes]
    for name, data in TENSORS.items():
        card = json.dumps({"sha256": hashlib.sha256(data).hexdigest()})
        files = {"query.toml": QUERY, "m.safetensors": data, "m.json": card}
        yield Case(f"weights: {name}", (*check, "m.safetensors"), writing(files))
    for name, card_ in CARDS.items():
        files = {"query.toml": QUERY, "m.safetensors": SMALL, "m.json": card_}
        yield Case(f"card of weights: {name}", (*check, "m.safetensors"), writing(files))
    for name, card_ in ONNX_CARDS.items():
        files = {"query.toml": QUERY, "m.onnx": b"x", "m.json": card_}
        yield Case(f"card of ONNX: {name}", (*check, "onnx:m.onnx"), writing(files))
    for name, data in (("noise", bytes(99)), ("empty", b""), ("text", b"onnx")):
        files = {"query.toml": QUERY, "m.onnx": data, "m.json": "{}"}
        yield Case(f"ONNX: {name}", (*check, "onnx:m.onnx"), writing(files))
    for name, data in checkpoints():
        yield Case(
            f"checkpoint: {name}", ("models", "convert", "m.pt", "o.safetensors"), writing({"m.pt": data})
        )
    for name, data in zips():
        yield Case(f"zip: {name}", ("models", "fetch", "iep", "--from", "m.zip"), writing({"m.zip": data}))
    train = (
        "models",
        "train",
        "classifier",
        "--dataset",
        "mnist",
        "--epochs",
        "1",
        "--data",
        ".",
        "--out",
        "out",
    )
    for name, data in idx():
        files = {
            "train-images-idx3-ubyte": data,
            "train-labels-idx1-ubyte": bytes((0, 0, 8, 1, 0, 0, 0, 2, 0, 1)),
        }
        yield Case(f"idx: {name}", train, writing(files))
    yield from _not_files(check, train)


def _not_files(check: tuple[str, ...], train: tuple[str, ...]) -> Iterator[Case]:
    words = {
        "m.safetensors": (*check, "m.safetensors"),
        "m.onnx": (*check, "onnx:m.onnx"),
        "m.pt": ("models", "convert", "m.pt", "o.safetensors"),
        "m.zip": ("models", "fetch", "iep", "--from", "m.zip"),
        "train-images-idx3-ubyte": train,
        "r.pth": ("models", "fetch", "resnet101", "--from", "r.pth"),
    }
    for place, command in words.items():
        for name, make in not_files(place):
            yield Case(f"{place}: {name}", command, _beside_query(make))


def _beside_query(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def both(folder: Path) -> None:
        writing({"query.toml": QUERY, "train-labels-idx1-ubyte": bytes((0, 0, 8, 1, 0, 0, 0, 0))})(folder)
        make(folder)

    return both


def _saved(value: object) -> bytes:
    out = io.BytesIO()
    torch.save(value, out)
    return out.getvalue()


def torch_legacy(value: object) -> bytes:
    """A checkpoint as torch wrote it before 1.6."""
    out = io.BytesIO()
    torch.save(value, out, _use_new_zipfile_serialization=False)
    return out.getvalue()


def _zip(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def _claiming(members: dict[str, bytes], grown: str, size: int) -> bytes:
    """A zip one of whose members says that it unpacks to so many bytes."""
    data = bytearray(_zip(members, zipfile.ZIP_DEFLATED))
    name = grown.encode()
    for mark, size_at, name_at in ((b"PK\x03\x04", 22, 30), (b"PK\x01\x02", 24, 46)):
        start = data.find(mark)
        while start >= 0:
            if data[start + name_at :].startswith(name):
                data[start + size_at : start + size_at + 4] = struct.pack("<I", size)
            start = data.find(mark, start + 4)
    return bytes(data)


def _repacked(checkpoint: bytes, parts: dict[str, bytes], claiming: int = 0) -> bytes:
    """The checkpoint with some of its parts replaced; its tensor may claim to unpack to so many bytes."""
    with zipfile.ZipFile(io.BytesIO(checkpoint)) as archive:
        root = archive.namelist()[0].partition("/")[0]
        members = {name: archive.read(name) for name in archive.namelist()}
    members |= {f"{root}/{name}": data for name, data in parts.items()}
    return _claiming(members, f"{root}/data/0", claiming) if claiming else _zip(members)


def _locked(archive: bytes) -> bytes:
    """The zip with the bit set that says that its members need a password."""
    data = bytearray(archive)
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.find(mark)
        while start >= 0:
            data[start + at] |= 1
            start = data.find(mark, start + 4)
    return bytes(data)
