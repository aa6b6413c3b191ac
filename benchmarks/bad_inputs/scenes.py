"""Bad scenes, pictures and questions: met by `trex render scenes`, `baseline --dataset` and `models verify`."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.bad_inputs.cases import Case, not_files, writing
from benchmarks.bad_inputs.queries import QUERY
from trex.scenes.clevr_format.scene_json import to_clevr
from trex.scenes.scene import Nuisances, Scene, SceneObject, scene_to_dict

GOOD = Scene((SceneObject("cube", "small", "red", "rubber", 0.0, 1.0, 0.0),), Nuisances())
IMAGE = "images/val/CLEVR_val_000000.png"
SCENES = "scenes/CLEVR_val_scenes.json"
QUESTIONS = "questions/CLEVR_val_questions.json"
STEPS = [
    {"function": "scene", "inputs": [], "value_inputs": []},
    {"function": "count", "inputs": [0], "value_inputs": []},
]
QUESTION: dict[str, object] = {
    "question": "How many things are there?",
    "image_filename": "CLEVR_val_000000.png",
    "split": "val",
    "answer": "1",
    "program": STEPS,
}


def scene_texts() -> Iterator[tuple[str, str | bytes]]:
    """The JSON of one scene, spoilt."""
    # As JSON has them: anything may be anything.
    clevr: dict[str, Any] = dict(to_clevr(GOOD))
    ours: dict[str, Any] = dict(scene_to_dict(GOOD))
    item = clevr["objects"][0]
    changes: dict[str, list[object]] = {
        "3d_coords": [[1e300, 0, 0], [0], "here", None, [0, 0, True], ["0", 0, 0]],
        "rotation": [True, "1", None, []],
        "shape": [3, "cubicle", None, ["cube"], "c" * 100_000],
        "size": ["huge", 1],
        "color": ["\0", {}],
        "material": [1.5],
    }
    for key, values in changes.items():
        for n, value in enumerate(values):
            yield f"{key}, {n}", json.dumps({**clevr, "objects": [{**item, key: value}]})
    yield "100,000 objects", json.dumps({**clevr, "objects": [item] * 100_000})
    yield "100,000 objects of ours", json.dumps({**ours, "objects": ours["objects"] * 100_000})
    yield "an object that is a number", json.dumps({**clevr, "objects": [3]})
    yield "objects that are a word", json.dumps({"objects": "many"})
    yield (
        "nuisances of NaN",
        json.dumps({**ours, "nuisances": {**ours["nuisances"], "key": [float("nan"), 0, 0]}}),
    )
    yield (
        "nuisances of 1e300",
        json.dumps({**clevr, "nuisances": {**clevr["nuisances"], "camera": [1e300, 0, 0]}}),
    )
    yield "an infinite number", json.dumps(ours).replace("1.0", "1e999")
    yield "5000 digits", json.dumps(ours).replace("1.0", "9" * 5000)
    yield "nested", "[" * 100_000
    yield "nested objects", '{"objects":' * 100_000
    yield "cut", json.dumps(ours)[:-9]
    yield "a list", "[]"
    yield "a number", "3"
    yield "UTF-16 without a mark", json.dumps(ours).encode("utf-16-le")
    yield "scenes that are no list", '{"scenes": 3}'
    yield "a scene that is no object", '{"scenes": [3]}'
    yield "no file name", json.dumps({"scenes": [{**clevr, "image_filename": 3}]})


def png(width: int, height: int, body: bytes) -> bytes:
    """A PNG of this size, whatever its body."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def good_png() -> bytes:
    """A picture of 120 x 80 pixels."""
    return png(120, 80, zlib.compress(bytes((1 + 360) * 80)))


def pictures() -> Iterator[tuple[str, bytes]]:
    """Files that are no picture, or too much of one."""
    yield "a bomb", png(60_000, 40_000, zlib.compress(bytes(1 << 24)))
    yield "18 million pixels", png(5250, 3500, zlib.compress(b""))
    yield "no pixels", png(0, 0, zlib.compress(b""))
    yield "square", png(9, 9, zlib.compress(bytes(28 * 9)))
    yield "cut", good_png()[:60]
    yield "a body that is not deflated", png(120, 80, b"no")
    yield "text", b"a picture"
    yield "a TIFF", b"II*\0" + bytes(100)
    yield "a text chunk that inflates", _with_text_bomb()


def questions() -> Iterator[tuple[str, str]]:
    """A questions file with one bad question."""
    changes: dict[str, list[object]] = {
        "question": [3, None, ["How"]],
        "answer": [None, [], 1.5],
        "image_filename": ["../../x.png", "\0", 3, "x" * 5000],
        "split": ["..", 3, "a/b"],
        "program": [
            3,
            [3],
            [{}],
            [{"function": "scene", "inputs": [5]}],
            STEPS * 50_000,
            [{"function": "fly"}],
        ],
    }
    for key, values in changes.items():
        for n, value in enumerate(values):
            yield f"{key}, {n}", json.dumps({"questions": [{**QUESTION, key: value}]})
    yield "nested", '{"questions": ' + "[" * 100_000
    yield "5000 digits", '{"questions": [' + "9" * 5000 + "]}"
    yield "an item without end", '{"questions": [["' + "x" * (20 << 20)
    yield "no list", '{"questions": {}}'


def cases() -> Iterator[Case]:
    """Scenes are rendered, pictures are looked at, questions are asked."""
    for name, written in scene_texts():
        yield Case(
            f"scene: {name}",
            ("render", "scenes", "scene.json", "--preset", "draft"),
            writing({"scene.json": written}),
        )
    for name, make in not_files("scene.json"):
        yield Case(f"scene: {name}", ("render", "scenes", "scene.json"), make)
    files: dict[str, str | bytes] = {
        "query.toml": QUERY,
        IMAGE: good_png(),
        SCENES: json.dumps({"scenes": [to_clevr(GOOD, IMAGE[11:], 0, "val")]}),
    }
    baseline = ("baseline", "query.toml", "--dataset", ".", "--out", "out")
    for name, data in pictures():
        yield Case(f"picture: {name}", baseline, writing({**files, IMAGE: data}), is_accepted=True)
    for name, written in (*scene_texts(), *questions()):
        if b"scenes" in (written if isinstance(written, bytes) else written.encode()) or "nested" in name:
            yield Case(
                f"scenes of pictures: {name}", baseline, writing({**files, SCENES: written}), is_accepted=True
            )
    for name, make in not_files(SCENES):
        if name != "nothing":
            yield Case(
                f"scenes of pictures: {name}", baseline, _instead(files, SCENES, make), is_accepted=True
            )
    verify = ("models", "verify", "fake", "--dataset", ".")
    for name, written in questions():
        yield Case(f"question: {name}", verify, writing({**files, QUESTIONS: written}))
    for name, make in not_files(QUESTIONS):
        yield Case(f"questions: {name}", verify, _instead(files, QUESTIONS, make))


def _instead(
    files: dict[str, str | bytes], place: str, make: Callable[[Path], object]
) -> Callable[[Path], object]:
    def both(folder: Path) -> None:
        writing({name: data for name, data in files.items() if name != place})(folder)
        make(folder)

    return both


def _with_text_bomb() -> bytes:
    out, packed = io.BytesIO(), zlib.compress(bytes(64 << 20))
    content = b"Comment\0\0" + packed
    good = good_png()
    out.write(good[:33])
    out.write(
        struct.pack(">I", len(content)) + b"zTXt" + content + struct.pack(">I", zlib.crc32(b"zTXt" + content))
    )
    out.write(good[33:])
    return out.getvalue()
