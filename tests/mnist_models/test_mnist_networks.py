"""The networks have the published sizes, and their losses the values that can be worked out."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from trex.mnist_models.load import load_classifier, load_decoder
from trex.mnist_models.networks.autoencoders import LATENT, Posterior, Vae, kl_to_standard_normal
from trex.mnist_models.networks.classifiers import Classifier, LeNet
from trex.mnist_models.networks.gan import (
    Discriminator,
    Doubling,
    Generator,
    Gray,
    discriminator_loss,
    generator_loss,
)
from trex.mnist_models.training.classifiers import ambiguous_loss, nll_loss

Z = torch.from_numpy(np.random.default_rng(1).standard_normal((3, LATENT)).astype(np.float32))
STEP = 1e-7


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_parameter_counts_follow_from_the_layers() -> None:
    assert (
        count(Vae()) == (784 * 400 + 400) + 2 * (400 * 5 + 5) + (5 * 400 + 400) + (400 * 784 + 784) == 634_794
    )
    assert count(Vae().decoder) == 316_784
    convolutions = 16 * (5 * 512 + 512 * 256 + 256 * 128 + 128 * 64) + 64
    assert count(Generator()) == convolutions + 2 * (512 + 256 + 128 + 64) == 2_795_456
    assert (
        count(Discriminator()) == 16 * (64 + 64 * 128) + 9 * 128 * 256 + 2 * (128 + 256) + 16 * 256 == 431_872
    )
    assert count(Classifier(10)) == 320 + 18_496 + (9216 * 128 + 128) + (128 * 10 + 10) == 1_199_882
    assert count(LeNet(10)) == 520 + 25_050 + 400_500 + 5_010 == 431_080


@pytest.mark.parametrize(("layer", "side"), [(Doubling(6, 4), 4), (Gray(6), 8)], ids=["doubling", "gray"])
def test_our_transposed_convolutions_are_torchs(layer: nn.ConvTranspose2d, side: int) -> None:
    """Pictures, and gradients of picture and weights, in float64."""
    plain = nn.ConvTranspose2d(
        6, layer.out_channels, layer.kernel_size, layer.stride, layer.padding, bias=False
    )
    plain.load_state_dict(layer.state_dict())
    found = []
    for each in (layer.double(), plain.double()):
        torch.manual_seed(3)
        x = torch.randn(2, 6, side, side - 1, dtype=torch.float64, requires_grad=True)
        y = each(x)
        y.backward(torch.randn(y.shape, dtype=y.dtype))  # randn_like fills in the order of the layout
        found.append((y.detach(), x.grad, each.weight.grad))
    for ours, torchs in zip(*found, strict=True):
        assert ours.shape == torchs.shape
        assert torch.allclose(ours, torchs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("decoder", [Vae().decoder, Generator()], ids=["vae", "gan"])
def test_decoders_give_pictures_each_of_its_own_latent(decoder: nn.Module) -> None:
    decoder.eval()
    pictures = decoder(Z)
    assert pictures.shape == (3, 1, 28, 28)
    assert float(pictures.detach().min()) >= 0.0 and float(pictures.detach().max()) <= 1.0
    assert torch.allclose(pictures[1:2], decoder(Z[1:2]), atol=1e-6)
    decoder.train()
    if isinstance(decoder, Generator):  # planted: left in training mode, batch norm mixes the batch
        assert not torch.allclose(decoder(Z)[1:2], decoder.eval()(Z[1:2]), atol=1e-3)


@pytest.mark.parametrize("network", [Classifier(4), LeNet(4)], ids=["classifier", "lenet"])
def test_classifiers_give_one_logit_a_class(network: Classifier | LeNet) -> None:
    pictures = torch.rand(2, 1, 28, 28)
    assert network(pictures).shape == (2, 4)
    features = network.eval().features(pictures)
    assert torch.equal(network.answer(features), network(pictures)) and float(features.detach().min()) >= 0.0


@pytest.mark.parametrize("world", ["mnist-vae", "mnist-gan", "fashion-vae", "fashion-gan"])
def test_gradients_of_a_log_probability_by_the_latent_are_right(world: str) -> None:
    """Central differences in float64 with the shipped weights, whose gradients here are between 1 and 50.

    Rounding then stays near 1e-8 of them (under fresh weights they are 1e-6 and it would not), and the
    weights are the same on every machine, so none of these latents has a ReLU's kink within a step.
    """
    decoder = load_decoder(world).decoder.double()
    classifier = load_classifier(f"{world.split('-')[0]}-classifier").module.double()
    z = Z.double()

    def log_probs(at: torch.Tensor) -> torch.Tensor:
        return classifier(decoder(at)).log_softmax(dim=1)[:, 3]

    at = z.clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(log_probs(at).sum(), at)
    with torch.no_grad():
        steps = STEP * torch.eye(LATENT, dtype=torch.float64)
        slopes = [(log_probs(z + step) - log_probs(z - step)) / (2.0 * STEP) for step in steps]

    def gap(given: torch.Tensor) -> float:
        return float(((given - torch.stack(slopes, dim=1)).norm(dim=1) / given.norm(dim=1)).max())

    assert float(gradient.norm(dim=1).min()) > 1.0
    assert gap(gradient) < 1e-5
    assert gap(1.01 * gradient) > 5e-3  # planted


def test_the_kl_term_is_that_of_normals() -> None:
    mean, log_variance = np.array([0.5, -1.0, 0.0, 2.0, 0.1]), np.array([0.0, -1.0, 0.5, -2.0, 1.0])
    posterior = Posterior(torch.from_numpy(mean)[None], torch.from_numpy(log_variance)[None])
    draws = np.random.default_rng(4).standard_normal((400_000, 5)) * np.exp(0.5 * log_variance) + mean
    normal = stats.norm(mean, np.exp(0.5 * log_variance))
    gaps = (normal.logpdf(draws) - stats.norm.logpdf(draws)).sum(axis=1)
    error = gaps.std() / math.sqrt(len(gaps))
    assert float(kl_to_standard_normal(posterior)) == pytest.approx(gaps.mean(), abs=5 * error)
    assert float(kl_to_standard_normal(Posterior(torch.zeros(2, 5), torch.zeros(2, 5)))) == 0.0
    doubled = Posterior(posterior.mean, 2.0 * posterior.log_variance)  # planted: deviation taken for variance
    assert float(kl_to_standard_normal(doubled)) != pytest.approx(gaps.mean(), abs=5 * error)


def test_a_vae_that_knows_nothing_pays_one_bit_a_pixel() -> None:
    vae = Vae()
    for parameter in vae.parameters():
        nn.init.zeros_(parameter)
    loss = float(vae.loss(torch.rand(6, 1, 28, 28)).detach())
    assert loss == pytest.approx(6 * 784 * math.log(2.0), rel=1e-5)


def test_the_ambiguous_loss_is_zero_only_where_two_neighbors_are_torn() -> None:
    torn = torch.full((2, 10), -40.0)
    torn[0, [3, 4]] = 0.0
    torn[1, [9, 0]] = 0.0  # the last class is followed by the first
    assert float(ambiguous_loss(torn, torch.tensor([3, 9]))) == pytest.approx(0.0, abs=1e-6)
    assert float(ambiguous_loss(torn, torch.tensor([2, 9]))) > 5.0
    flat = torch.zeros(1, 10)  # KL of (1/2, 1/2) to 1/10 each: log 5
    assert float(ambiguous_loss(flat, torch.tensor([6]))) == pytest.approx(math.log(5.0))
    sure = torch.full((1, 10), -40.0)
    sure[0, 6] = 0.0
    assert float(nll_loss(sure, torch.tensor([6]))) == pytest.approx(0.0, abs=1e-6)
    assert float(ambiguous_loss(sure, torch.tensor([6]))) > 5.0


def test_adversarial_losses_at_even_odds() -> None:
    even = torch.zeros(4)
    assert float(discriminator_loss(even, even)) == pytest.approx(2.0 * math.log(2.0))
    assert float(generator_loss(even)) == pytest.approx(math.log(2.0))
    right, wrong = torch.full((4,), 5.0), torch.full((4,), -5.0)
    assert float(discriminator_loss(right, wrong)) < 0.02 < float(discriminator_loss(wrong, right))
    assert float(generator_loss(right)) < 0.02 < float(generator_loss(wrong))
