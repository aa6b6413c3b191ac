"""A query as it was understood: what reading a run's draws takes, without model or renderer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trex.inference.targets import GaussianTarget
from trex.query.question import ResolvedQuestion
from trex.query.schema import Query
from trex.query.target import make_target
from trex.scenes.vocabulary import CLEVR, ShapeCard, Vocabulary


@dataclass(frozen=True)
class ResolvedQuery:
    """The query, its question with the answers that it can have, and the labels of the model.

    `cards` are the shapes that scenes may hold, `size` the width and height of the pictures in pixels, `trained_on` the
    classes that a decoder has seen (empty if that is unknown or means nothing).
    """

    query: Query
    question: ResolvedQuestion
    labels: tuple[str, ...]
    cards: tuple[ShapeCard, ...]
    size: tuple[int, int]
    trained_on: tuple[str, ...] = ()

    @property
    def target(self) -> GaussianTarget:
        """The level set that is searched for."""
        return make_target(self.query.target, self.question, self.labels)

    @property
    def vocabulary(self) -> Vocabulary:
        """What the scenes may hold."""
        new = tuple(card.name for card in self.cards if card.name not in CLEVR.shapes)
        vocabulary = replace(CLEVR, shapes=(*CLEVR.shapes, *new), cards=self.cards)
        for what in self.query.scene.revoke:
            vocabulary = vocabulary.revoke(what)
        return vocabulary
