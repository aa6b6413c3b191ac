"""A batch of a suite: scenes of one run in CLEVR's layout, sealed by hashes, read with suspicion."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, StringConstraints

from trex.auditing.document import is_audit
from trex.datasets.clevr_files import check_plain
from trex.foundation.codec import Codec
from trex.foundation.errors import InputError
from trex.foundation.fields import Number, Plain
from trex.foundation.files import TEXT_LIMIT, is_missing, read_bytes, shown
from trex.foundation.images import FILE_LIMIT, decode_png
from trex.foundation.words import quoted
from trex.runs.folder import is_run
from trex.scenes.questions.program_json import program_from_json
from trex.scenes.questions.programs import Program

BATCH, IMAGES = "batch.json", "images/found"
NAME = re.compile("[0-9a-f]{32}")  # of a batch's folder
MAX_BATCHES = 10_000
REMEDY = "restore the folder from its repository, or delete the batch and add its run again"
Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
Word = Annotated[Plain, StringConstraints(min_length=1, max_length=1000)]


@dataclass(frozen=True)
class BatchScene:
    """A scene whose picture is `images/found/NAME`: its true answer, and the wrong one of the run's model.

    `confirmed` are the presets at which that model's answer was still wrong. `program` is CLEVR's JSON.
    Scenes of one `group` of a batch are related (hits of one family or chain, questions about one picture) and count
    once in a test. So do those of one `origin` in whatever batch: a chain of a run, or a prior scene.
    """

    name: Word
    truth: Word
    answer: Word
    confidence: Number
    confirmed: tuple[Word, ...]
    question: Annotated[Plain, StringConstraints(min_length=1)]
    program: tuple[dict[str, object], ...]
    group: Annotated[int, Field(ge=0)]
    origin: Plain = ""


@dataclass(frozen=True)
class BatchFile:
    """What `batch.json` holds; `files` is the sha256 of every other file by its path.

    `run` names a run, or an audit; `weights` is the fingerprint of its model, "" if it is unknown. `also` are scenes of
    other batches, by their names in the suite, that the model fails on as well: they are not stored again.
    """

    run: Plain
    model: Plain
    scenes: Annotated[tuple[BatchScene, ...], Field(min_length=1)]
    files: Mapping[str, Sha256]
    format: Literal[1] = 1
    weights: str = ""
    also: tuple[Plain, ...] = ()

    def is_by(self, model: str, weights: str) -> bool:
        """Whether this model's failures were selected for the batch; told by the name if a fingerprint is missing."""
        if self.weights and weights:
            return self.weights == weights
        return self.model == model or weights.startswith(f"{self.model} ")


CODEC = Codec(BatchFile, InputError)


@dataclass(frozen=True)
class Batch:
    """A batch in its folder, with the checked program of each scene."""

    folder: Path
    content: BatchFile
    programs: Mapping[str, Program]  # by the scene's name

    def read(self, path: str) -> bytes:
        """A file of the batch; InputError if it is missing, is reached by a link, or was changed."""
        place = self.folder / path
        data = _read(place, FILE_LIMIT, self.folder.parent)
        if hashlib.sha256(data).hexdigest() != self.content.files[path]:
            raise InputError(f"{shown(place)} was changed after it was added (its sha256 differs); {REMEDY}")
        return data

    def picture(self, scene: BatchScene) -> NDArray[np.float32]:
        """The stored picture (H, W, 3) in [0, 1]; InputError as from `read`, or if it is no PNG."""
        path = picture_path(scene)
        pixels = decode_png(self.read(path), shown(self.folder / path))
        return pixels.astype(np.float32) / np.float32(255.0)

    def key(self, scene: BatchScene) -> str:
        """The scene's name in the suite: BATCH/PICTURE."""
        return f"{self.folder.name}/{scene.name}"

    def program(self, scene: BatchScene) -> Program:
        """The program of the question about a scene."""
        return self.programs[scene.name]

    def group(self, scene: BatchScene) -> str:
        """What the scenes of its batch that are related to this one share; see `related` for the whole suite."""
        return f"{self.folder.name} {scene.group}"

    def identity(self, scene: BatchScene) -> tuple[str, Program]:
        """What makes it the same test again: the picture's hash and the question's program."""
        return self.content.files[picture_path(scene)], self.program(scene)


def related(batches: Sequence[Batch]) -> dict[str, str]:
    """By the name of each scene in the suite, what all scenes share that are related to it, directly or through others.

    A run whose new hits are added later has its chains in two batches, and audits of two models fail on one scene.
    """
    import networkx as nx

    graph: nx.Graph[tuple[str, str]] = nx.Graph()
    for batch in batches:
        for scene in batch.content.scenes:
            key = ("scene", batch.key(scene))
            graph.add_edge(key, ("group", batch.group(scene)))
            if scene.origin:
                graph.add_edge(key, ("origin", scene.origin))
    return {
        name: min(part)[1]
        for part in nx.connected_components(graph)
        for kind, name in part
        if kind == "scene"
    }


def picture_path(scene: BatchScene) -> str:
    """The picture's path in its batch."""
    return f"{IMAGES}/{scene.name}"


def read_batches(suite: Path) -> tuple[Batch, ...]:
    """The batches of a suite, sorted by name, following no link in it; InputError if one is damaged or renamed."""
    try:
        with os.scandir(suite) as found:
            names = sorted(
                entry.name
                for entry in found
                if NAME.fullmatch(entry.name)
                or (entry.is_dir(follow_symlinks=False) and not entry.name.startswith((".", "__")))
            )
    except OSError as error:
        reason = error.strerror or error
        raise InputError(
            f"{shown(suite)} is not a suite ({reason}); make one: trex suite add RUN --to DIR"
        ) from error
    if is_run(suite) or is_audit(suite):
        raise InputError(
            f"{shown(suite)} is no suite; keep its failures in one: trex suite add {quoted(suite)} --to DIR"
        )
    strange = next((name for name in names if not NAME.fullmatch(name)), None)
    if strange is not None:
        raise InputError(
            f"{shown(suite / strange)} is not the folder of a batch, whose name is 32 hexadecimal digits; was it "
            f"renamed? {REMEDY}; keep other files elsewhere"
        )
    if len(names) > MAX_BATCHES:
        raise InputError(f"{shown(suite)} has {len(names):,} batches; the limit is {MAX_BATCHES:,}")
    return tuple(_read_batch(suite, name) for name in names)


def check_files(batch: Batch) -> None:
    """InputError names a file of the batch that is missing or was changed."""
    for path in batch.content.files:
        batch.read(path)


def batch_name(data: bytes) -> str:
    """The name of the batch whose `batch.json` has these bytes: 32 hexadecimal digits of their sha256."""
    return hashlib.sha256(data).hexdigest()[:32]


def _read(path: Path, limit: int, suite: Path) -> bytes:
    """A file of a batch; InputError with the remedy if it is missing."""
    try:
        return read_bytes(path, limit=limit, inside=suite)
    except InputError as error:
        raise InputError(f"{error}; {REMEDY}") if is_missing(error) else error from error.__cause__


def _read_batch(suite: Path, name: str) -> Batch:
    path = suite / name / BATCH
    data = _read(path, TEXT_LIMIT, suite)
    if batch_name(data) != name:
        raise InputError(
            f"{shown(path)} was changed after it was added (its folder is named by its hash); {REMEDY}"
        )
    content = CODEC.parse(data.decode("utf-8", "replace"), shown(path), REMEDY, _check)
    programs = {scene.name: program_from_json(list(scene.program)) for scene in content.scenes}
    return Batch(suite / name, content, programs)


def _check(content: BatchFile) -> None:
    for path in content.files:
        for part in path.split("/"):
            check_plain(part, "a path in files")
    if len({scene.name for scene in content.scenes}) < len(content.scenes):
        raise ValueError("two scenes have the same name")
    for scene in content.scenes:
        check_plain(scene.name, "the name of a scene")
        if picture_path(scene) not in content.files:
            raise ValueError(f"files lacks {picture_path(scene)}")
        program_from_json(list(scene.program))
