"""The card of a weights file in this world: its network, data set, classes, pictures and latents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trex.artifacts.card import Card, card_path
from trex.foundation.errors import InputError
from trex.mnist_models.datasets import DATASETS, described
from trex.mnist_models.pictures import DIGIT, Shape

CLASSIFIERS = ("classifier", "lenet", "ambiguous", "resnet18", "resnet18-16")
DECODERS = ("vae", "gan", "beta-vae")
AUTOENCODERS = ("vae", "beta-vae")  # decoders with an encoder
DIGIT_KINDS = ("classifier", "ambiguous", "vae", "gan")  # for pictures of 28x28 in gray alone
KINDS = (*CLASSIFIERS, *DECODERS)
LATENT, MAX_LATENTS = 5, 1000  # of a card that gives none, and at most
ARCHITECTURES = {
    "classifier": "conv 32 k3, ReLU, conv 64 k3, maxpool 2, fc 128, ReLU, fc K; dropout .25 and .5 in training",
    "ambiguous": "as classifier; trained by KL to 1/2 on the true class and 1/2 on the next (appendix H)",
    "lenet": "conv 20 k5, ReLU, maxpool 2, conv 50 k5, ReLU, maxpool 2, fc 500, ReLU, fc K",
    "vae": "784-400-(5, 5), 5-400-784, ReLU, sigmoid",
    "beta-vae": "3 conv k4 s2 of 32 (gray) or 64, 256, 256, (d, d); d-256-256-256, 4 transposed conv k4 s2, sigmoid",
    "resnet18": "conv 64 k3, 4 stages of 2 residual blocks of 64, 128, 256, 512 with batch norm, mean, fc K",
    "resnet18-16": "as resnet18, with a quarter of its channels",
    "gan": "5-512-256-128-64 transposed convolutions k4, batch norm, ReLU; 1 channel k1, padding 2, sigmoid",
}


@dataclass(frozen=True)
class DigitCard:
    """The part of a card that loading needs, checked; `labels` are the classes that the model was trained on.

    `dataset` is what the model is asked about, and `trained_on` what it learned from, in words; a card without
    `trained_on` is of a model that learned from `dataset`. `picture`: height, width and channels, 28x28x1 on a card
    without it; `latent`: a decoder's numbers, 5 on a card without it.
    """

    kind: str
    dataset: str
    labels: tuple[str, ...]
    sha256: str
    trained_on: str
    picture: Shape = DIGIT
    latent: int = LATENT


def parse_card(card: Card, weights: Path, kinds: tuple[str, ...]) -> DigitCard:
    """A card whose model is of one of these kinds; InputError names another kind, or what is missing."""
    kind, dataset, labels = card.get("kind"), card.get("dataset"), card.get("labels")
    if kind not in KINDS:
        raise InputError(
            f"card {card_path(weights)} names no kind of digit model ({', '.join(KINDS)}): {kind!r}"
        )
    if kind not in kinds:
        raise InputError(f"weights {weights} are of kind {kind!r}; expected {' or '.join(kinds)}")
    if not isinstance(dataset, str):
        raise InputError(f"card {card_path(weights)} names no data set ({', '.join(DATASETS)}): {dataset!r}")
    described(dataset)
    if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
        raise InputError(f"card {card_path(weights)} has no list of labels; train the model again")
    if len(set(labels)) != len(labels):
        raise InputError(f"card {card_path(weights)} has a duplicate label; train the model again")
    trained_on = card.get("trained_on", dataset)
    if not isinstance(trained_on, str):
        raise InputError(f"card {card_path(weights)} has no text under trained_on; train the model again")
    picture, latent = _picture(card, weights), card.get("latent", LATENT)
    if not isinstance(latent, int) or isinstance(latent, bool) or not 1 <= latent <= MAX_LATENTS:
        raise InputError(
            f"card {card_path(weights)}: latent {latent!r} is not 1 to {MAX_LATENTS}; train again"
        )
    return DigitCard(kind, str(dataset), tuple(labels), str(card["sha256"]), trained_on, picture, latent)


def _picture(card: Card, weights: Path) -> Shape:
    """Height, width and channels; InputError unless they are those of the card's data set."""
    given, wanted = card.get("picture", list(DIGIT)), DATASETS[str(card.get("dataset"))].picture
    if given != list(wanted):
        raise InputError(
            f"card {card_path(weights)}: picture {given!r} is not {list(wanted)}, as {card.get('dataset')} has it; "
            "train the model again"
        )
    return wanted
