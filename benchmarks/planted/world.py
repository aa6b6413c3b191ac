"""The benchmark's scenes: CLEVR's prior with 3 to 6 objects, in streams that are drawn once and kept in a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.foundation.files import make_folder, write_atomic
from trex.scenes.conditions import (
    Asked,
    Bools,
    Condition,
    object_conditions,
    object_rows,
    question_conditions,
    question_rows,
    scene_conditions,
    scene_row,
)
from trex.scenes.graph import Facts, facts_of
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.families import random_questions
from trex.scenes.questions.programs import Program, Step
from trex.scenes.scene import Scene, scene_from_dict, scene_to_dict
from trex.scenes.vocabulary import CLEVR

OBJECTS = (3, 6)
PRIOR = ScenePrior(n_objects=OBJECTS)
QUESTIONS = 8  # about each scene of a stream
CHUNK = 250  # scenes of a file
OF_OBJECT: tuple[Condition, ...] = object_conditions(CLEVR)
OF_SCENE: tuple[Condition, ...] = scene_conditions()
OF_QUESTION: tuple[Condition, ...] = question_conditions(CLEVR)
COLUMNS = {
    subject: {condition.key: k for k, condition in enumerate(conditions)}
    for subject, conditions in (("object", OF_OBJECT), ("scene", OF_SCENE), ("question", OF_QUESTION))
}


@dataclass(frozen=True)
class Known:
    """A scene's facts and a few of CLEVR's questions about it, with their true answers."""

    facts: Facts
    asked: tuple[Asked, ...]

    @property
    def scene(self) -> Scene:
        """The scene."""
        return self.facts.scene


def known_of(facts: Facts, rng: np.random.Generator) -> Known:
    """A scene with QUESTIONS of CLEVR's questions, each of another family."""
    drawn = random_questions(rng, facts.scene, QUESTIONS)
    return Known(facts, tuple(Asked(question.program, question.answer) for question in drawn))


@dataclass(frozen=True)
class Table:
    """Which conditions hold in scenes: for their objects, for themselves, for their questions.

    `object_of` and `question_of` give the scene of each row of `objects` and `questions`.
    """

    objects: Bools
    scenes: Bools
    questions: Bools
    object_of: NDArray[np.int64]
    question_of: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.scenes)

    def of(self, at: NDArray[np.int64]) -> Table:
        """The table of some of the scenes; `at` ascends."""
        place = np.full(len(self), -1)
        place[at] = np.arange(len(at))
        objects, questions = place[self.object_of] >= 0, place[self.question_of] >= 0
        return Table(
            self.objects[objects],
            self.scenes[at],
            self.questions[questions],
            place[self.object_of[objects]],
            place[self.question_of[questions]],
        )


def table_of(known: Sequence[Known]) -> Table:
    """The table of these scenes."""
    objects = [object_rows(each.facts, OF_OBJECT) for each in known]
    questions = [question_rows(each.facts, each.asked, OF_QUESTION) for each in known]
    return Table(
        np.concatenate([np.zeros((0, len(OF_OBJECT)), np.bool_), *objects]),
        np.concatenate(
            [np.zeros((0, len(OF_SCENE)), np.bool_), *(scene_row(each.facts, OF_SCENE) for each in known)]
        ),
        np.concatenate([np.zeros((0, len(OF_QUESTION)), np.bool_), *questions]),
        np.repeat(np.arange(len(known)), [len(rows) for rows in objects]),
        np.repeat(np.arange(len(known)), [len(rows) for rows in questions]),
    )


class Stream:
    """Prior draws by number: scene i is a function of the stream's name, its seed and i alone.

    They are kept in files of CHUNK scenes below `folder`, which several programs may fill at once.
    """

    def __init__(self, folder: Path, name: str, seed: int) -> None:
        self.name, self.seed = name, seed
        self._folder = folder / f"{name}-{seed}"
        self._chunks: dict[int, list[Known]] = {}
        self._tables: dict[int, Table] = {}

    def first(self, n: int) -> list[Known]:
        """The first n draws."""
        chunks = [self._chunk(at) for at in range(-(-n // CHUNK))]
        return [known for chunk in chunks for known in chunk][:n]

    def at(self, number: int) -> Known:
        """Draw `number`."""
        return self._chunk(number // CHUNK)[number % CHUNK]

    def table(self, n: int) -> Table:
        """The table of the first n draws; n must be a multiple of CHUNK."""
        if n % CHUNK:
            raise ValueError(f"{n} scenes are no multiple of {CHUNK}")
        if n not in self._tables:
            parts = [self._part(at) for at in range(n // CHUNK)]
            self._tables[n] = Table(
                np.concatenate([part.objects for part in parts]),
                np.concatenate([part.scenes for part in parts]),
                np.concatenate([part.questions for part in parts]),
                np.concatenate([part.object_of + k * CHUNK for k, part in enumerate(parts)]),
                np.concatenate([part.question_of + k * CHUNK for k, part in enumerate(parts)]),
            )
        return self._tables[n]

    def _chunk(self, at: int) -> list[Known]:
        if at not in self._chunks:
            path = self._folder / f"{at}.jsonl"
            if not path.is_file():
                made = [self._drawn(number) for number in range(at * CHUNK, (at + 1) * CHUNK)]
                make_folder(self._folder)
                write_atomic(path, "".join(json.dumps(_row(known)) + "\n" for known in made).encode())
            self._chunks[at] = [_read(line) for line in path.read_text().splitlines()]
        return self._chunks[at]

    def _part(self, at: int) -> Table:
        path = self._folder / f"{at}.npz"
        if path.is_file():
            with np.load(path) as kept:
                return Table(**{name: kept[name] for name in kept.files})
        part = table_of(self._chunk(at))
        scratch = path.with_suffix(f".{np.random.SeedSequence().entropy}.npz")
        np.savez_compressed(scratch, **vars(part))
        scratch.replace(path)
        return part

    def _drawn(self, number: int) -> Known:
        name = int.from_bytes(self.name.encode()[:8], "big")
        rng = np.random.default_rng([name, self.seed, number])
        return known_of(facts_of(PRIOR.sample(rng), CLEVR), rng)


def _row(known: Known) -> dict[str, object]:
    facts = known.facts
    return {
        "scene": scene_to_dict(facts.scene),
        "shares": facts.shares,
        "hiders": facts.hiders,
        "touching": facts.touching,
        "asked": [[each.program, each.truth] for each in known.asked],
    }


def _read(line: str) -> Known:
    row = json.loads(line)
    facts = Facts(
        scene_from_dict(row["scene"]),
        tuple(row["shares"]),
        tuple(row["hiders"]),
        tuple(tuple(each) for each in row["touching"]),
    )
    return Known(facts, tuple(Asked(_program(program), truth) for program, truth in row["asked"]))


def _program(steps: Sequence[tuple[str, Sequence[int], Sequence[str]]]) -> Program:
    return tuple(Step(name, tuple(inputs), tuple(values)) for name, inputs, values in steps)


@dataclass(frozen=True)
class Pool:
    """The first `n` scenes of a stream, with their table: what rates are measured on and claims are judged by."""

    stream: Stream
    n: int

    @cached_property
    def known(self) -> list[Known]:
        """The scenes."""
        return self.stream.first(self.n)

    @property
    def table(self) -> Table:
        """Their table."""
        return self.stream.table(self.n)
