"""The weights in this package: small enough, loadable, and as good as their cards say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.references.official_clevr import data_file
from trex.artifacts.card import read_card
from trex.mnist_models.datasets import load_data
from trex.mnist_models.load import SHIPPED, load_classifier, load_decoder
from trex.mnist_models.training.quality import classifier_figures

LARGEST_BYTES = 25_000_000
LEAST_ACCURACY = {"mnist": 0.99, "fashion": 0.92}


def shipped(name: str) -> Path:
    path = SHIPPED / f"{name}.safetensors"
    assert path.is_file(), f"{name} is to be shipped"
    return path


def figures_of(path: Path) -> dict[str, float]:
    figures = read_card(path)["figures"]
    assert isinstance(figures, dict)
    return figures


def test_all_together_they_are_small_and_each_has_its_card() -> None:
    files = list(SHIPPED.glob("*"))
    assert sum(path.stat().st_size for path in files) <= LARGEST_BYTES
    names = [{path.stem for path in files if path.suffix == suffix} for suffix in (".safetensors", ".json")]
    assert names[0] == names[1] and len(files) == 2 * len(names[0])


@pytest.mark.parametrize("dataset", ["mnist", "fashion"])
@pytest.mark.parametrize("kind", ["vae", "gan"])
def test_decoders_draw_something_bright_on_something_dark(dataset: str, kind: str) -> None:
    decoder = load_decoder(shipped(f"{dataset}-{kind}").stem)
    (picture,) = decoder.render([np.full(5, 0.5)])
    assert picture.pixels.max() > 0.4 > 0.1 > picture.pixels.min() and len(decoder.labels) == 10


@pytest.mark.parametrize("dataset", ["mnist", "fashion"])
@pytest.mark.parametrize("kind", ["vae", "gan"])
def test_decoders_draw_every_class(dataset: str, kind: str) -> None:
    """Of 500 prior draws the classifier calls at least 5 each class; a collapsed GAN draws a few."""
    decoder, classifier = load_decoder(f"{dataset}-{kind}"), load_classifier(f"{dataset}-classifier")
    z = torch.from_numpy(np.random.default_rng(1).standard_normal((500, 5)).astype(np.float32))
    with torch.inference_mode():
        answers = classifier.differentiable_log_probs(decoder.pixels(z)).argmax(1)
    assert int(torch.bincount(answers, minlength=10).min()) >= 5


@pytest.mark.parametrize("dataset", ["mnist", "fashion"])
def test_classifiers_are_as_good_as_was_asked_for(dataset: str) -> None:
    path = shipped(f"{dataset}-classifier")
    assert figures_of(path)["n"] == 10_000 and figures_of(path)["accuracy"] >= LEAST_ACCURACY[dataset]
    blank = load_classifier(path.stem).log_probs(np.zeros((1, 28, 28, 1), np.float32))
    assert blank.shape == (1, 10) and np.exp(blank).sum() == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("dataset", ["mnist", "fashion"])
def test_the_card_tells_the_truth(dataset: str) -> None:
    """On another machine the last bits of a sum may turn an answer that is torn."""
    path = shipped(f"{dataset}-classifier")
    test = load_data(dataset, "test", data_file("MNIST").parent)
    found = classifier_figures(load_classifier(path.stem).module, test, torch.device("cpu"))
    assert abs(int(str(found["right"])) - figures_of(path)["right"]) <= 3
