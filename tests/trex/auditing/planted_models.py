"""Models that see scenes with a planted fault, without pictures: each picture is the number of a scene in a book."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.bound import BoundModule
from trex.clevr_models.interface.question import Question
from trex.render.picture import Picture
from trex.scenes.conditions import BESIDE, FAR
from trex.scenes.graph import Facts, facts_of
from trex.scenes.properties import RADIUS
from trex.scenes.questions.bitsets import SceneSets, scene_sets
from trex.scenes.questions.programs import InvalidProgram, execute_on
from trex.scenes.scene import Scene, SceneObject, scene_id, with_attribute
from trex.scenes.validity import BEHIND
from trex.scenes.vocabulary import CLEVR

CAP = 2
View = Callable[[Facts], SceneSets]
SURE = 20.0  # logit of the answer


@dataclass
class Book:
    """A renderer whose pictures hold the number of the scene."""

    facts: list[Facts] = field(default_factory=list)
    numbers: dict[Scene, int] = field(default_factory=dict)
    key: str = "book"

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        """Two by three pixels that spell the number."""
        return [self._written(scene) for scene in zs]

    def read(self, image: NDArray[np.float32]) -> Facts:
        """The facts of the scene of a picture (2, 3, 3) in [0, 1]."""
        high, low, _ = np.rint(image[0, 0] * 255).astype(int)
        return self.facts[256 * int(high) + int(low)]

    def close(self) -> None:
        """Nothing to free."""

    def _written(self, scene: Scene) -> Picture:
        number = self.numbers.setdefault(scene, len(self.facts))
        if number == len(self.facts):
            self.facts.append(facts_of(scene, CLEVR))
        pixels = np.broadcast_to(np.array([number // 256, number % 256, 0], np.uint8), (2, 3, 3)).copy()
        return Picture(pixels, np.zeros((2, 3), np.uint8), scene_id(scene))


@dataclass(frozen=True)
class Planted:
    """A model that answers every question about the scene as `view` shows it; numbers above `cap` become `cap`."""

    book: Book
    view: View
    cap: int = 10
    name: str = "planted"

    def bind(self, question: Question) -> BoundModule:
        """Not needed here."""
        raise NotImplementedError

    def ask(self, image: NDArray[np.float32], questions: Sequence[Question]) -> NDArray[np.float64]:
        """(Q, 28) natural logs, sure of every answer; "no" where the question has none."""
        sets = self.view(self.book.read(image))
        logits = np.zeros((len(questions), len(ANSWERS)))
        for row, question in zip(logits, questions, strict=True):
            row[ANSWERS.index(self._answer(question, sets))] = SURE
        log_probs: NDArray[np.float64] = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return log_probs

    def _answer(self, question: Question, sets: SceneSets) -> str:
        try:
            found = execute_on(question.program, sets)
        except InvalidProgram:
            return "no"
        return str(min(int(found), self.cap)) if found.isdecimal() else found


@dataclass(frozen=True)
class Miscounting(Planted):
    """Sees the scene as it is, and counts one too few by chance, in this share of all counts above 0."""

    share: float = 0.3

    def _answer(self, question: Question, sets: SceneSets) -> str:
        answer = super()._answer(question, sets)
        draw = zlib.crc32(f"{question.text} {sets}".encode()) / 2**32
        return str(int(answer) - 1) if answer.isdecimal() and answer != "0" and draw < self.share else answer


def as_it_is(facts: Facts) -> SceneSets:
    """The scene without a fault."""
    return scene_sets(facts.scene)


def hidden_metal_cylinders_are_cubes(facts: Facts) -> SceneSets:
    """Metal cylinders less than 60% visible are seen as cubes."""
    return _seen(
        facts,
        lambda i, item: (
            with_attribute(item, "shape", "cube")
            if item.shape == "cylinder" and item.material == "metal" and facts.shares[i] < 0.6
            else item
        ),
    )


def blue_beside_green_is_swapped(facts: Facts) -> SceneSets:
    """A blue object beside a green one is seen as green, and the other way round."""
    other = {"blue": "green", "green": "blue"}
    return _seen(
        facts,
        lambda i, item: (
            with_attribute(item, "color", other[item.color])
            if item.color in other
            and any(
                scene_object.color == other[item.color] and _gap(item, scene_object) < BESIDE
                for scene_object in facts.scene.objects
            )
            else item
        ),
    )


def small_things_at_the_back_are_missed(facts: Facts) -> SceneSets:
    """Small objects at the back are not seen."""
    return _seen(facts, lambda i, item: None if item.size == "small" and _depth(item) > FAR else item)


def left_is_right_under_a_low_camera(facts: Facts) -> SceneSets:
    """Left and right are confused where the camera is low."""
    sets = scene_sets(facts.scene)
    if facts.scene.nuisances.camera[2] >= -0.25:
        return sets
    turned = {"left": sets.beyond["right"], "right": sets.beyond["left"]}
    return replace(sets, beyond=sets.beyond | turned)


def _seen(facts: Facts, see: Callable[[int, SceneObject], SceneObject | None]) -> SceneSets:
    seen = (see(i, item) for i, item in enumerate(facts.scene.objects))
    return scene_sets(replace(facts.scene, objects=tuple(item for item in seen if item is not None)))


def _depth(item: SceneObject) -> float:
    return item.x * BEHIND[0] + item.y * BEHIND[1]


def _gap(scene_object: SceneObject, other: SceneObject) -> float:
    apart = float(np.hypot(scene_object.x - other.x, scene_object.y - other.y))
    return apart - RADIUS[scene_object.size] - RADIUS[other.size]
