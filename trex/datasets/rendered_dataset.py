"""A data set of rendered prior scenes with questions, in CLEVR's own folder layout; resumable at any scene."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image

from trex.foundation.errors import InputError
from trex.foundation.files import disk_error, open_regular, read_text, write_atomic
from trex.foundation.json_fields import mapping
from trex.foundation.locked_folder import hold
from trex.foundation.parse import parse_json
from trex.foundation.progress import Progress, silent
from trex.foundation.words import counted, differing_keys
from trex.render.ahead import drawers, drawn_ahead
from trex.render.blender.blender_renderer import BlenderRenderer, default_processes
from trex.render.picture import Bytes, Picture
from trex.scenes.clevr_format.json_files import write_items
from trex.scenes.clevr_format.scene_json import from_clevr, to_clevr
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.english import phrase
from trex.scenes.questions.families import random_questions
from trex.scenes.questions.program_json import program_to_json
from trex.scenes.scene import Scene

MAX_SCENES = 10_000_000  # scenes per split
BATCH = 16  # scenes rendered between two writes


@dataclass(frozen=True)
class DatasetPlan:
    """The content of a split: scene i depends on the seed, the split and i alone."""

    n: int
    seed: int = 0
    split: str = "train"
    objects: tuple[int, int] = (3, 10)
    preset: str = "fast"
    questions_per_scene: int = 10

    def __post_init__(self) -> None:
        if (
            not 1 <= self.n <= MAX_SCENES
            or not 0 <= self.questions_per_scene <= 1000
            or not 0 <= self.seed < 1 << 63
        ):
            raise InputError(f"{self.n} scenes, {self.questions_per_scene} questions each, seed {self.seed}: "
                             f"ask for 1 to {MAX_SCENES:,} scenes, 0 to 1000 questions, a seed below 2^63")  # fmt: skip
        if not self.split.isidentifier():
            raise InputError(
                f"split {self.split!r} must be one word of letters, digits and _, such as train or val"
            )
        _ = self.prior  # InputError for numbers of objects that cannot be drawn

    @property
    def prior(self) -> ScenePrior:
        """What scenes are drawn from."""
        return ScenePrior(n_objects=self.objects)

    def rng(self, index: int, what: int) -> np.random.Generator:
        """The stream of random numbers for scene `index`: what = 0 its layout, 1 its questions."""
        return np.random.default_rng([self.seed, *self.split.encode(), 256 + what, index])

    def scene(self, index: int) -> Scene:
        """Scene `index`."""
        return self.prior.sample(self.rng(index, 0))

    def name(self, index: int) -> str:
        """The picture's file name, as in CLEVR."""
        return f"CLEVR_{self.split}_{index:06d}.png"


def render_dataset(
    out: Path,
    plan: DatasetPlan,
    device: str = "auto",
    processes: int | None = None,
    progress: Progress = silent,
) -> Path:
    """Write images/, masks/, scenes/ and questions/ of one split below `out`; return the scenes file.

    Keeps existing scenes and adds the rest; InputError if they are more, or were made with another plan, or if another
    program renders this split at the moment; RunError that names the file that cannot be written.
    """
    count = default_processes() if processes is None else processes
    renderer = BlenderRenderer(plan.preset, device, processes=count)  # InputError before anything is written
    lines = out / "scenes" / f"{plan.split}.jsonl"
    for folder in ("images", "masks"):
        (out / folder / plan.split).mkdir(parents=True, exist_ok=True)
    lines.parent.mkdir(parents=True, exist_ok=True)
    with lines.open("a+b", buffering=0) as log:
        hold(
            log.fileno(),
            lines,
            InputError(f"another program is rendering this split into {lines}; wait for its end"),
        )
        begun = _whole_lines(log, lines)
        if begun > plan.n:
            raise InputError(
                f"{out} already has {counted(begun, 'scene')} of split {plan.split}, not just {plan.n}; ask for "
                f"{begun} or more (--scenes), or give another folder with --out"
            )
        with renderer:
            _check_same(out / f"{plan.split}.plan.json", plan, renderer.key, is_begun=begun > 0)
            _render_rest(out, plan, renderer, log, range(begun, plan.n), count, progress)
    return _finish(out, plan, lines)


def _check_same(path: Path, plan: DatasetPlan, renderer_key: str, *, is_begun: bool) -> None:
    """Raise InputError if scenes were made by a plan that differs in more than their number, which may grow."""
    request = {k: v for k, v in asdict(plan).items() if k not in ("n", "questions_per_scene")} | {
        "renderer": renderer_key
    }
    text = json.dumps(request, indent=1) + "\n"
    if is_begun and path.exists():
        before = mapping(parse_json(read_text(path), str(path)), str(path))
        if keys := differing_keys(before, json.loads(text)):
            raise InputError(
                f"{path}: the scenes of split {plan.split} were made otherwise; they differ in {keys}: ask for the "
                "same, or give another folder with --out or another --split"
            )
    write_atomic(path, text.encode())


def _whole_lines(log: BinaryIO, path: Path) -> int:
    """The number of whole lines; cuts off an incomplete last one. InputError if they are not scenes 0, 1, 2, ..."""
    log.seek(0)
    data = log.read()
    end = data.rfind(b"\n") + 1
    lines = data[:end].splitlines()
    for index, line in enumerate(lines):
        record = parse_json(line, f"{path}, line {index + 1}")
        if not isinstance(record, dict) or record.get("image_index") != index:
            raise InputError(
                f"{path}, line {index + 1} is not scene {index}: two programs have written here, or the file was "
                "changed; delete it and render the split again"
            )
    log.truncate(end)
    log.seek(0, os.SEEK_END)
    return len(lines)


def _render_rest(
    out: Path,
    plan: DatasetPlan,
    renderer: BlenderRenderer,
    log: FileIO,
    left: range,
    processes: int,
    progress: Progress,
) -> None:
    progress("scenes rendered", left.start, plan.n)
    with closing(drawn_ahead(plan.scene, left, drawers(plan.prior, len(left), processes))) as drawn:
        while batch := list(islice(drawn, BATCH)):
            pictures = renderer.render([scene for _, scene in batch])
            each = zip(batch, pictures, strict=True)
            _append(log, b"".join(_write_one(out, plan, *numbered, picture) for numbered, picture in each))
            progress("scenes rendered", batch[-1][0] + 1, plan.n)


def _write_one(out: Path, plan: DatasetPlan, index: int, scene: Scene, picture: Picture) -> bytes:
    """Write a scene's picture and mask; return its line."""
    name = plan.name(index)
    _write_png(out / "images" / plan.split / name, picture.pixels)
    _write_png(out / "masks" / plan.split / name, picture.mask)
    return json.dumps(to_clevr(scene, name, index, plan.split)).encode() + b"\n"


def _write_png(path: Path, pixels: Bytes) -> None:
    try:
        Image.fromarray(pixels).save(path, optimize=False, compress_level=1)
    except OSError as error:
        raise disk_error(error, path) from error


def _append(log: FileIO, data: bytes) -> None:
    """Append lines; RunError if the disk does not take them. The next call cuts off a part of a line."""
    try:
        while data:
            data = data[log.write(data) :]
        os.fsync(log.fileno())
    except OSError as error:
        raise disk_error(error, Path(os.fsdecode(log.name))) from error


def _finish(out: Path, plan: DatasetPlan, lines: Path) -> Path:
    """Write the scenes and questions files of the first n scenes."""
    with open_regular(lines) as stream:
        records = [parse_json(line, str(lines)) for line in islice(stream, plan.n)]
    info = {"split": plan.split, "version": "1.0", "license": "Apache-2.0", "made_by": "trex render dataset"}
    scenes = out / "scenes" / f"CLEVR_{plan.split}_scenes.json"
    write_items(scenes, "scenes", records, info)
    questions = (
        q for index, record in enumerate(records) for q in _questions(plan, index, from_clevr(record))
    )
    write_items(out / "questions" / f"CLEVR_{plan.split}_questions.json", "questions", questions, info)
    return scenes


def _questions(plan: DatasetPlan, index: int, scene: Scene) -> Iterator[dict[str, object]]:
    questions = random_questions(plan.rng(index, 1), scene, plan.questions_per_scene)
    for number, question in enumerate(questions):
        yield {
            "image_index": index,
            "image_filename": plan.name(index),
            "split": plan.split,
            "question_family_index": question.family.index,
            "question_index": index * plan.questions_per_scene + number,
            "question": phrase(question.program),
            "program": program_to_json(question.program),
            "answer": question.answer,
        }
