"""What an entrant sees of a target: scenes, pictures, answers; renders and answers are counted and limited."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.planted.answerer import Answerer
from benchmarks.planted.world import CHUNK, OF_OBJECT, OF_QUESTION, OF_SCENE, Known, Stream, Table, known_of
from trex.clevr_models.interface.question import Question
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.scenes.conditions import Condition
from trex.scenes.graph import Facts, facts_of
from trex.scenes.questions.english import parse, phrase
from trex.scenes.questions.programs import Program, Step
from trex.scenes.scene import Scene, scene_id
from trex.scenes.vocabulary import CLEVR

STAMP = 18  # bytes of the first row's pixels that name the scene
ANSWERS_EACH = 200  # answers for each render of the budget


class BudgetSpentError(Exception):
    """An entrant asked for more renders or answers than its budget has."""


@dataclass(frozen=True, eq=False)
class Shown:
    """A rendered scene; its pixels are only made if someone looks at them."""

    _facts: Facts

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """(80, 120, 3), row 0 at the top."""
        return self._picture.pixels

    @cached_property
    def _picture(self) -> Picture:
        drawn = FakeRenderer().picture_of(self._facts.scene)
        return replace(drawn, pixels=stamped(drawn.pixels, self._facts.scene))


class Referee:
    """One target, one budget, one stream of prior draws."""

    def __init__(self, answerer: Answerer, budget: int, draws: Stream) -> None:
        self._answerer, self._draws, self._drawn = answerer, draws, 0
        self._stamps: dict[bytes, Facts] = {}
        self._words: dict[Program, str] = {}
        self.budget, self.renders, self.answers = budget, 0, 0

    @property
    def conditions(self) -> dict[str, tuple[Condition, ...]]:
        """The vocabulary: conditions on an object, on a scene, on a question."""
        return {"object": OF_OBJECT, "scene": OF_SCENE, "question": OF_QUESTION}

    @property
    def left(self) -> int:
        """Renders that are left."""
        return self.budget - self.renders

    def draw(self, n: int) -> list[Known]:
        """The next n draws of the prior, with facts and questions; free."""
        self._drawn += n
        return [self._draws.at(k) for k in range(self._drawn - n, self._drawn)]

    def drawn(self, n: int) -> tuple[list[Known], Table]:
        """The first n draws of the prior, n rounded up to whole files, and which conditions hold in them; free."""
        n = -(-n // CHUNK) * CHUNK
        return self._draws.first(n), self._draws.table(n)

    def known(self, scene: Scene, seed: int) -> Known:
        """The facts of a scene that an entrant made, and questions about it; free."""
        return _known(scene, seed)

    def render(self, scene: Scene | Facts) -> Shown:
        """A picture of a scene; BudgetSpentError if none is left."""
        if self.renders >= self.budget:
            raise BudgetSpentError(f"all {self.budget:,} renders are spent")
        self.renders += 1
        return Shown(scene if isinstance(scene, Facts) else facts_of(scene, CLEVR))

    def answer(self, picture: Shown, question: str | Program) -> str:
        """What the target answers to a question (English or a program) about a picture."""
        if isinstance(question, str):
            return self._answered(picture._facts, parse(question), question)
        if question not in self._words:
            self._words[question] = phrase(question, CLEVR) if self._answerer.target.wording else ""
        return self._answered(picture._facts, question, self._words[question])

    def shown(self, scene: Scene) -> Picture:
        """The picture of a scene for an entrant that has a renderer in between; counts one render."""
        shown = self.render(scene)
        self._stamps[_stamp(scene)] = shown._facts
        return shown._picture

    def answers_to(self, pixels: NDArray[np.uint8], question: Question) -> str:
        """What the target answers about pixels that `shown` gave; "" about others."""
        facts = self._stamps.get(pixels[0, : STAMP // 3].tobytes())
        program = tuple(Step(*step) for step in question.program)
        return "" if facts is None else self._answered(facts, program, question.text)

    def _answered(self, facts: Facts, program: Sequence[Step], words: str) -> str:
        if self.answers >= self.budget * ANSWERS_EACH:
            raise BudgetSpentError(f"all {self.budget * ANSWERS_EACH:,} answers are spent")
        self.answers += 1
        return self._answerer.answer(facts, tuple(program), words)


def stamped(pixels: NDArray[np.uint8], scene: Scene) -> NDArray[np.uint8]:
    """The pixels with the scene's name in the corner, as two scenes may look alike."""
    found = pixels.copy()
    found[0, : STAMP // 3] = np.frombuffer(_stamp(scene), np.uint8).reshape(-1, 3)
    return found


@lru_cache(maxsize=10_000)  # some entrants make the same scenes for every target
def _known(scene: Scene, seed: int) -> Known:
    return known_of(facts_of(scene, CLEVR), np.random.default_rng(seed))


def _stamp(scene: Scene) -> bytes:
    return hashlib.sha256(scene_id(scene).encode()).digest()[:STAMP]
