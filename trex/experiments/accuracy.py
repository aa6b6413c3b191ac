"""The accuracy of an experiment's digit classifiers, as their weights' cards record it: nothing is computed anew."""

from __future__ import annotations

from dataclasses import dataclass

from trex.foundation.errors import InputError
from trex.inference.statistics.proportion import Proportion
from trex.pages.wording import rate_words
from trex.runs.manifest import Manifest
from trex.worlds.shipped.digits import SHIPPED


@dataclass(frozen=True)
class ModelAccuracy:
    """Number of pictures of a split that a model gets right, and their total."""

    model: str
    split: str
    right: int
    of: int

    @property
    def rate(self) -> Proportion:
        """The accuracy."""
        return Proportion(self.right, self.of)

    @property
    def words(self) -> str:
        """The accuracy in words."""
        return f"{self.model} is right on {rate_words(self.rate)} pictures of the {self.split} split"


def accuracy_of(manifest: Manifest) -> ModelAccuracy | None:
    """The accuracy on the card of the weights that a run used.

    None for a model without such a card, or if the weights at hand are not those of the run.
    """
    from trex.artifacts.card import read_card
    from trex.mnist_models.card import recorded_accuracy
    from trex.mnist_models.load import weights_path

    name = manifest.query.model.name
    try:
        weights = weights_path(manifest.facts.model if name == SHIPPED else name)
        card = read_card(weights)
    except InputError:
        return None
    found = recorded_accuracy(card)
    if found is None or manifest.made.model != f"{weights.stem} {str(card['sha256'])[:16]}":
        return None
    return ModelAccuracy(manifest.facts.model, *found)
