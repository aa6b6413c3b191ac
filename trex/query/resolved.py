"""A resolved query: enough to read a run's draws, without model or renderer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trex.inference.targets import GaussianTarget
from trex.query.question import ResolvedQuestion
from trex.query.schema import Query
from trex.query.target import make_target
from trex.scenes.vocabulary import CLEVR, ShapeCard, Vocabulary


@dataclass(frozen=True)
class ResolvedQuery:
    """The query, its question with all possible answers, and the model's labels.

    `cards` are the shapes that scenes may hold, `size` the width and height of the pictures in pixels, `trained_on`
    the classes that a decoder has seen (empty if that is unknown or meaningless).
    """

    query: Query
    question: ResolvedQuestion
    labels: tuple[str, ...]
    cards: tuple[ShapeCard, ...]
    size: tuple[int, int]
    trained_on: tuple[str, ...] = ()

    @property
    def target(self) -> GaussianTarget:
        """The target's level set."""
        return make_target(self.query.target, self.question, self.labels)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the scenes."""
        new = tuple(card.name for card in self.cards if card.name not in CLEVR.shapes)
        vocabulary = replace(CLEVR, shapes=(*CLEVR.shapes, *new), cards=self.cards)
        for what in self.query.scene.revoke:
            vocabulary = vocabulary.revoke(what)
        return vocabulary
