"""Classifiers and decoders by name (shipped, or trained here) or by path."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import torch
from torch import nn

from trex.artifacts.cache import cache_root
from trex.artifacts.card import read_card
from trex.artifacts.weights import expand, load_into, read_safetensors
from trex.foundation.errors import InputError
from trex.foundation.files import from_home
from trex.mnist_models.card import AUTOENCODERS, CLASSIFIERS, DECODERS, DigitCard, parse_card
from trex.mnist_models.datasets import DATASETS
from trex.mnist_models.models import Autoencoder, DecoderRenderer, DigitClassifier
from trex.mnist_models.networks.autoencoders import BetaVae, Vae
from trex.mnist_models.networks.classifiers import classifier_of
from trex.mnist_models.networks.gan import Generator
from trex.mnist_models.pictures import DIGIT

SHIPPED = Path(__file__).parent / "weights"
SUFFIX = ".safetensors"
EXTRA, EXTRA_PACKAGE = "worlds", "bayes_trex_worlds"  # which has the weights that the wheel leaves out


def trained_models() -> Path:
    """The default folder of `trex models train vae | gan | beta-vae | classifier`, in the user's cache."""
    return cache_root() / "digits" / "models"


def default_network(dataset: str) -> str:
    """The kind of classifier for a data set if its user names none."""
    is_digit = dataset not in DATASETS or DATASETS[dataset].picture == DIGIT
    return "classifier" if is_digit else "resnet18"


def model_name(kind: str, dataset: str, included: tuple[int, ...], n_classes: int) -> str:
    """The file name of a model: mnist-vae, mnist-gan-without-3, fashion-classifier-only-2-3-5-6-9."""
    left_out = [k for k in range(n_classes) if k not in included]
    if not left_out:
        return f"{dataset}-{kind}"
    word, numbers = ("without", left_out) if len(left_out) < len(included) else ("only", list(included))
    return "-".join((dataset, kind, word, *map(str, numbers)))


def load_classifier(spec: str, threads: int = 1) -> DigitClassifier:
    """A classifier by a name such as `mnist-classifier` or `fashion-lenet`, or by a path that ends in .safetensors.

    InputError describes any fault in the name or the file. Sets torch to `threads` threads.
    """
    weights = weights_path(spec)
    card = parse_card(read_card(weights), weights, CLASSIFIERS)
    network = classifier_of(card.kind, len(card.labels), card.picture)
    _fill(network, weights, threads)
    return DigitClassifier(weights.stem, network, card.labels, card.dataset, card.sha256, card.picture)


def load_decoder(spec: str, threads: int = 1) -> DecoderRenderer:
    """A decoder by a name such as `mnist-vae` or `fashion-gan`, or a .safetensors path; else as `load_classifier`."""
    weights = weights_path(spec)
    card = parse_card(read_card(weights), weights, DECODERS)
    decoder = _decoder(card, weights, threads)
    key = f"{card.dataset}-{card.kind} {card.sha256[:16]}"
    return DecoderRenderer(weights.stem, decoder, card.latent, key, card.labels, card.dataset, card.picture)


def load_autoencoder(spec: str, threads: int = 1) -> Autoencoder:
    """Both halves of a VAE by a name such as `signs-beta-vae`, or a .safetensors path; else as `load_classifier`."""
    weights = weights_path(spec)
    card = parse_card(read_card(weights), weights, AUTOENCODERS)
    vae = _vae(card, weights, threads)
    return Autoencoder(
        weights.stem,
        vae.encoder,
        vae.decoder,
        card.latent,
        card.labels,
        card.dataset,
        card.sha256,
        card.picture,
    )


def weights_path(spec: str) -> Path:
    """The path of a spec's weights; InputError if there are none."""
    if spec.endswith(SUFFIX):
        return from_home(Path(spec))
    for folder in _folders():
        place = folder / f"{spec}{SUFFIX}"
        if "/" not in spec and place.is_file():
            return place
    if spec in left_out():
        raise InputError(
            f"the weights of {spec!r} are in the extra {EXTRA}: pip install 'bayes-trex[{EXTRA}]'"
        )
    raise InputError(
        f"digit model {spec!r} is neither shipped nor in {trained_models()} (there are: {_at_hand()}); "
        "train it (trex models train vae | gan | beta-vae | classifier) or name a path that ends in .safetensors"
    )


def left_out() -> list[str]:
    """The shipped models whose weights are in an extra that is not installed."""
    return sorted({card.stem for card in SHIPPED.glob("*.json")} - _names())


def _folders() -> list[Path]:
    """Where a name is looked for: shipped, in the extra, trained here."""
    found = find_spec(EXTRA_PACKAGE)
    extra = [Path(place) / "weights" for place in (found and found.submodule_search_locations) or ()]
    return [SHIPPED, *extra, trained_models()]


def _at_hand() -> str:
    return ", ".join(sorted(_names())) or "none"


def _names() -> set[str]:
    return {
        path.stem
        for folder in _folders()
        for path in folder.glob(f"*{SUFFIX}")
        if "checkpoint" not in path.name
    }


def _decoder(card: DigitCard, weights: Path, threads: int) -> nn.Module:
    if card.kind == "gan":
        generator = Generator()
        _fill(generator, weights, threads)
        return generator
    return _vae(card, weights, threads).decoder


def _vae(card: DigitCard, weights: Path, threads: int) -> Vae | BetaVae:
    vae = BetaVae(card.picture, card.latent) if card.kind == "beta-vae" else Vae()
    _fill(vae, weights, threads)
    return vae


def _fill(module: nn.Module, weights: Path, threads: int) -> None:
    load_into(module, expand(read_safetensors(weights)), weights)
    module.eval().requires_grad_(False)
    torch.set_num_threads(threads)
