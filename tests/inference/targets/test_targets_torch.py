"""Targets in torch: the same numbers as in numpy, and gradients that finite differences confirm."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inference.targets.test_targets import EVERY as TARGETS
from tests.inference.targets.test_targets import LABELS
from trex.inference.nuts.density import Density, Point, standard_normal
from trex.inference.targets import (
    GaussianTarget,
    distance_target,
    k_way,
)
from trex.mnist_models.latent import StandardNormal
from trex.mnist_models.networks.autoencoders import VaeDecoder
from trex.mnist_models.networks.classifiers import Classifier

torch.set_num_threads(1)
EVERY: dict[str, GaussianTarget] = {
    **{str(param.id): param.values[0] for param in TARGETS},
    "k-way-all": k_way(LABELS, LABELS),
    "within-pair": distance_target(k_way(LABELS, ("1", "3")), 3.0),
}
STEP = 1e-6
NETWORK_TOLERANCE = (
    1e-3  # relative, in double precision: steps of 1e-6 can cross a kink of a ReLU or of a pool
)


@pytest.mark.parametrize("target", EVERY.values(), ids=EVERY)
@given(logits=st.lists(st.floats(-30.0, 30.0), min_size=5, max_size=5))
@settings(max_examples=20)
def test_tensors_weigh_what_arrays_do(target: GaussianTarget, logits: list[float]) -> None:
    log_probs = torch.tensor([logits], dtype=torch.float64).log_softmax(1)
    weighed = target.log_weights(log_probs)
    assert weighed.shape == (1,)
    assert float(weighed[0]) == pytest.approx(target.log_weight(log_probs[0].numpy()), rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("target", EVERY.values(), ids=EVERY)
def test_many_weigh_what_each_does(target: GaussianTarget) -> None:
    rng = np.random.default_rng(1)
    rows = torch.from_numpy(3.0 * rng.standard_normal((2, 4, 5))).log_softmax(-1).numpy()
    each = [[target.log_weight(row) for row in block] for block in rows]
    assert np.allclose(target.log_weights(rows), each, rtol=1e-12, atol=1e-9)


def numeric_gradient(density: Density, z: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    def value(at: np.ndarray) -> float:
        return density.evaluate({0: Point(at, temperature)})[0].log_density

    steps = STEP * np.eye(z.size)
    return np.array([(value(z + step) - value(z - step)) / (2.0 * STEP) for step in steps])


def linear(z: torch.Tensor) -> torch.Tensor:
    """Three latents to five answers."""
    weights = torch.tensor(np.random.default_rng(8).standard_normal((3, 5)))
    return (2.0 * z @ weights).log_softmax(1)


def gap(density: Density, z: np.ndarray, temperature: float = 1.0) -> float:
    """Between the gradient and finite differences, relative to the larger."""
    given = density.evaluate({0: Point(z, temperature)})[0].gradient
    expected = numeric_gradient(density, z, temperature)
    return float(np.abs(given - expected).max() / max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("temperature", [1.0, 3.0])
@pytest.mark.parametrize("target", EVERY.values(), ids=EVERY)
def test_gradients_are_those_of_finite_differences(target: GaussianTarget, temperature: float) -> None:
    density = Density(linear, target)
    zs = np.random.default_rng(2).standard_normal((5, 3))
    assert max(gap(density, z, temperature) for z in zs) < 1e-5


def test_finite_differences_catch_a_gradient_that_is_cut() -> None:
    """Planted: part of the path from latents to answers is detached."""
    cut = Density(lambda z: linear(torch.cat([z[:, :2], z[:, 2:].detach()], 1)), EVERY["graded"])
    assert max(gap(cut, z) for z in np.random.default_rng(2).standard_normal((5, 3))) > 1e-2


@pytest.mark.parametrize("name", ["high-confidence", "ambiguous-pair", "graded"])
def test_gradients_through_decoder_and_classifier(name: str) -> None:
    """The paper's networks with random weights, in double precision, so that differences can be taken."""
    torch.manual_seed(3)
    decoder, classifier = VaeDecoder().double().eval(), Classifier(5).double().eval()
    decoder.requires_grad_(False)
    classifier.requires_grad_(False)
    density = Density(lambda z: (20.0 * classifier(decoder(3.0 * z))).log_softmax(1), EVERY[name], lane=1)
    assert gap(density, np.random.default_rng(4).standard_normal(5)) < NETWORK_TOLERANCE


def test_the_prior_is_that_of_the_digits() -> None:
    z = np.random.default_rng(5).standard_normal((4, 5))
    expected = [StandardNormal(5).log_density(row) for row in z]
    assert np.allclose(standard_normal(torch.from_numpy(z)).numpy(), expected, rtol=1e-14)


def test_a_temperature_leaves_the_reported_evaluation_the_papers() -> None:
    density = Density(linear, EVERY["high-confidence"])
    z = np.array([0.3, -2.2, 1.0])
    paper, hot = density.evaluate({0: Point(z), 1: Point(z, 9.0)}).values()
    assert hot.state.log_weight == pytest.approx(paper.state.log_weight)
    assert hot.log_density != pytest.approx(paper.log_density)
