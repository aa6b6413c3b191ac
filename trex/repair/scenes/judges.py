"""The tests that judge every model of a correction.

Fresh scenes of the scenarios, mistakes grown from held-out scenes, fresh scenes at the deciding look, and questions
about ordinary scenes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trex.clevr_models.interface.question import question_of
from trex.clevr_models.percept.model import Percept, PerceptModel
from trex.inference.scoring import images
from trex.render.picture import Picture
from trex.repair.arrays import Flags
from trex.repair.scenes.draws import Fresh
from trex.repair.scenes.reading import RIGHT, PerceptReader
from trex.scenes.questions.programs import Program
from trex.worlds.asking import ask_all

Right = Mapping[str, Flags]  # of each test, whether each object or answer is right


@dataclass(frozen=True, eq=False)
class Shown:
    """Scenes, with the object of each that counts, and their pictures."""

    drawn: Sequence[Fresh]
    pictures: Sequence[Picture]


@dataclass(frozen=True, eq=False)
class Asked:
    """A picture with questions about it and their true answers."""

    picture: Picture
    programs: Sequence[tuple[str, Program, str]]


@dataclass(frozen=True, eq=False)
class Judges:
    """What every model is judged by; `joined` tests are others one after another."""

    shown: Mapping[str, Shown]
    joined: Mapping[str, Sequence[str]]
    answers: Mapping[str, Sequence[Asked]]

    @property
    def tests(self) -> tuple[str, ...]:
        """All names."""
        return (*self.shown, *self.joined, *self.answers)

    def clusters(self, test: str) -> list[int]:
        """The prior scene from which each of a test's objects or answers comes."""
        if test in self.joined:
            return [member for part in self.joined[test] for member in self.clusters(part)]
        if test in self.shown:
            return [one.member for one in self.shown[test].drawn]
        return [k for k, one in enumerate(self.answers[test]) for _ in one.programs]

    def right(self, percept: Percept) -> dict[str, Flags]:
        """What a model has right of each test; each picture is read once."""
        reader = PerceptReader(percept)
        found = {
            name: np.array(
                [
                    words[fresh.index] == RIGHT
                    for fresh, words in zip(
                        one.drawn,
                        reader.read([fresh.scene for fresh in one.drawn], one.pictures),
                        strict=True,
                    )
                ],
                dtype=np.bool_,
            )
            for name, one in self.shown.items()
        }
        found |= {
            name: np.concatenate([found[part] for part in parts]) for name, parts in self.joined.items()
        }
        return found | {
            name: np.array([right for one in asked for right in _answered(percept, one)], dtype=np.bool_)
            for name, asked in self.answers.items()
        }


def _answered(percept: Percept, one: Asked) -> list[bool]:
    model = PerceptModel(percept)
    questions = [question_of(words, program) for words, program, _ in one.programs]
    said = ask_all(model, images([one.picture])[0], questions)
    return [answer.answer == truth for answer, (_, _, truth) in zip(said, one.programs, strict=True)]
