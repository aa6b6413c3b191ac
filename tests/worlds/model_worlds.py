"""Worlds of the user's own that ask the model of a query, in four ways, and one that only reads its name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.worlds import toy_disk
from tests.worlds.toy_disk import DiskClassifier, DiskRenderer, Dot
from trex.clevr_models.adapters.live import session_model
from trex.clevr_models.interface.question import Question
from trex.inference.types import Classifier, Floats
from trex.mnist_models.latent import StandardNormal
from trex.query.schema import Query
from trex.worlds.vectors import VectorParts, VectorWorld
from trex.worlds.world import Plan, open_model

QUESTION = Question("How far out is it?", ())


@dataclass(frozen=True)
class WideRenderer:
    """The disk's dot as a picture that CLEVR's models take."""

    key: str = "wide disk 1"

    def render(self, zs: list[Floats]) -> list[Dot]:
        """(20, 30, 3), the farther out the brighter."""
        return [
            Dot(np.full((20, 30, 3), dot.pixels[0, 0, 0], np.float32)) for dot in DiskRenderer().render(zs)
        ]

    def close(self) -> None:
        """Nothing is held."""


def opens(name: str) -> VectorWorld:
    """A world that opens the query's model by its name."""

    def load(query: Query) -> VectorParts:
        bound = open_model(query.model.name).bind(QUESTION)
        return VectorParts(StandardNormal(2), WideRenderer(), bound, query.model.name, "opened", (30, 20))

    return VectorWorld(name, QUESTION.text, "dots", load)


@dataclass(frozen=True)
class Called:
    """An object of the session that takes pictures alone."""

    model: object
    labels: tuple[str, ...] = ("near", "far")

    def log_probs(self, images: NDArray[np.float32]) -> Floats:
        """(B, 1, 1, 1) -> (B, 2)."""
        found: Floats = np.log(self.model(images))  # type: ignore[operator]
        return found


def takes(name: str) -> VectorWorld:
    """A world that takes the object of the session as it is."""

    def load(query: Query) -> VectorParts:
        model = Called(session_model(query.model.name))
        return VectorParts(StandardNormal(2), DiskRenderer(), model, query.model.name, "taken", (1, 1))

    return VectorWorld(name, QUESTION.text, "dots", load)


def chooses(name: str) -> VectorWorld:
    """A world with a shelf of classifiers of its own."""
    shelf: dict[str, Classifier] = {"shipped": DiskClassifier(), "other": DiskClassifier(("here", "far"))}

    def load(query: Query) -> VectorParts:
        found = shelf[query.model.name]
        return VectorParts(StandardNormal(2), DiskRenderer(), found, query.model.name, "shelf", (1, 1))

    return VectorWorld(name, QUESTION.text, "dots", load)


def claims(name: str) -> VectorWorld:
    """The planted lie: it reads the model's name, states it, and asks its own classifier."""

    def load(query: Query) -> VectorParts:
        return VectorParts(
            StandardNormal(2), DiskRenderer(), DiskClassifier(), query.model.name, "lie", (1, 1)
        )

    return VectorWorld(name, QUESTION.text, "dots", load)


class Wrapping(VectorWorld):
    """A world with a plan of its own, which never reads the model."""

    def plan(self, query: Query, query_dir: Path) -> Plan:
        """The disk's plan."""
        return toy_disk.disk(self.name).plan(query, query_dir)


def wraps(name: str) -> VectorWorld:
    """Such a world."""
    return Wrapping(name, QUESTION.text, "dots", toy_disk._load)
