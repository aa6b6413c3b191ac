"""The beta-VAE: its layers, its loss to the last nat, its annealing, and a training that a kill does not change."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.worlds.made_signs import write_signs
from tests.worlds.mnist_worlds import write_data
from trex.artifacts.card import read_card
from trex.foundation.errors import InputError
from trex.mnist_models.datasets import load_data
from trex.mnist_models.load import load_autoencoder, load_decoder
from trex.mnist_models.networks import autoencoders as vae_module
from trex.mnist_models.networks.autoencoders import BetaVae, Terms
from trex.mnist_models.training.decoders import beta_loss
from trex.mnist_models.training.options import BetaVaePlan
from trex.mnist_models.training.quality import active_latents
from trex.mnist_models.training.train import settings_of, train

pytestmark = pytest.mark.usefixtures("one_thread", "signs")
GRAY, COLOR = (28, 28, 1), (32, 32, 3)


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_parameter_counts_follow_from_the_published_table() -> None:
    color, gray = BetaVae(COLOR, 15), BetaVae(GRAY, 10)
    dense = 256 * 256 + 256
    first = 16 * 3 * 64 + 64
    inner = 16 * 64 * 64 + 64
    assert count(color.encoder) == first + 2 * inner + (1024 * 256 + 256) + dense + (256 * 30 + 30)
    assert count(color.decoder) == (15 * 256 + 256) + 2 * dense + 3 * inner + (16 * 64 * 3 + 3)
    inner = 16 * 32 * 32 + 32
    assert count(gray.encoder) == (16 * 32 + 32) + 2 * inner + (512 * 256 + 256) + dense + (256 * 20 + 20)
    assert count(gray.decoder) == (10 * 256 + 256) + 2 * dense + (16 * 64 * 32 + 32) + 2 * inner + (
        16 * 32 + 1
    )


def test_digits_are_padded_with_black_inside_and_cropped_again() -> None:
    vae, images = BetaVae(GRAY, 10).eval(), torch.rand(3, 1, 28, 28)
    padded = torch.zeros(3, 1, 32, 32)
    padded[:, :, 2:30, 2:30] = images
    mean, log_variance = vae.encoder.layers(padded).chunk(2, dim=1)
    found = vae.encoder(images)
    assert torch.equal(found.mean, mean) and torch.equal(found.log_variance, log_variance)
    z = torch.randn(3, 10)
    assert torch.equal(vae.decoder.logits(z), vae.decoder.layers(z)[:, :, 2:-2, 2:-2])
    assert vae.decoder(z).shape == (3, 1, 28, 28) and BetaVae(COLOR, 4).decoder(torch.randn(2, 4)).shape == (
        2,
        3,
        32,
        32,
    )


def test_the_initial_weights_keep_the_spread_from_layer_to_layer() -> None:
    torch.manual_seed(0)
    vae = BetaVae(COLOR, 16).requires_grad_(False)
    spreads: list[float] = []
    for half, inputs in ((vae.encoder, torch.randn(200, 3, 32, 32)), (vae.decoder, torch.randn(200, 16))):
        before = inputs
        for layer in half.layers:
            if not isinstance(layer, (nn.ReLU, nn.Flatten, nn.Unflatten)):
                after = layer(before)
                spreads.append(float(after.square().mean().sqrt() / before.square().mean().sqrt()))
                before = after
            else:
                before = layer(before)
    assert len(spreads) == 6 + 7 and all(
        0.8 < spread < 1.8 for spread in spreads
    )  # a ReLU takes half of the square


def knowable(picture: tuple[int, int, int], latent: int) -> BetaVae:
    """Every posterior is N(1, 1) in each latent, and every pixel is drawn with probability one half."""
    vae = BetaVae(picture, latent)
    with torch.no_grad():
        for layer in (vae.encoder.layers[-1], vae.decoder.layers[-1]):
            layer.weight.zero_()
            layer.bias.zero_()
        vae.encoder.layers[-1].bias[:latent] = 1.0
    return vae


def is_summed(picture: tuple[int, int, int]) -> bool:
    """Whether surprise is ln 2 for every pixel of every picture, and KL one half for every latent."""
    with torch.no_grad():
        terms = knowable(picture, 6).terms(torch.rand(5, picture[2], *picture[:2]))
    pixels = math.prod(picture)
    right = 5 * pixels * math.log(2.0), 5 * 6 * 0.5
    return (float(terms.surprise), float(terms.kl)) == pytest.approx(right, rel=1e-5)


@pytest.mark.parametrize("picture", [GRAY, COLOR])
def test_both_terms_are_summed_over_pixels_and_latents(
    monkeypatch: pytest.MonkeyPatch, picture: tuple[int, int, int]
) -> None:
    assert is_summed(picture)
    plain = vae_module.functional.binary_cross_entropy_with_logits

    def mean_over_pixels(drawn: Tensor, images: Tensor, reduction: str) -> Tensor:
        return plain(drawn, images) * len(images)

    with monkeypatch.context() as patch:
        patch.setattr(vae_module.functional, "binary_cross_entropy_with_logits", mean_over_pixels)
        assert not is_summed(picture)
    with monkeypatch.context() as patch:
        patch.setattr(vae_module, "kl_to_standard_normal", lambda found: 0.5 * found.mean.square().mean())
        assert not is_summed(picture)


def test_the_weight_of_the_kl_grows_to_beta_and_stays() -> None:
    terms = Terms(torch.tensor(70.0), torch.tensor(20.0))
    losses = [float(beta_loss(terms, 10, 4.0, 500, step)) for step in (0, 125, 500, 5000)]
    assert losses == pytest.approx([7.0, 7.0 + 0.25 * 4 * 2, 7.0 + 4 * 2, 7.0 + 4 * 2])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_signs(write_data(tmp_path_factory.mktemp("pictures")))


def trained(folder: Path, out: Path, **changes: object) -> Path:
    given = {"dataset": "signs", "epochs": 2, "batch_size": 16, "device": "cpu", "latent": 4, "anneal": 4}
    return train("beta-vae", BetaVaePlan.checked(given | {"data": folder, "out": out} | changes))


@pytest.mark.slow
def test_with_a_mean_over_pixels_every_latent_switches_off(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = {"epochs": 60, "anneal": 20}
    assert read_card(trained(folder, tmp_path / "sum", **long))["figures"]["active_latents"] >= 2
    plain = BetaVae.terms

    def planted(self: BetaVae, images: Tensor) -> Terms:
        terms = plain(self, images)
        return Terms(terms.surprise / images[0].numel(), terms.kl)

    monkeypatch.setattr(BetaVae, "terms", planted)
    assert read_card(trained(folder, tmp_path / "mean", **long))["figures"]["active_latents"] == 0


def test_a_latent_is_active_if_its_mean_tells_pictures_apart(folder: Path) -> None:
    class Means(nn.Module):
        def forward(self, images: Tensor) -> vae_module.Posterior:
            shade = images.mean(dim=(1, 2, 3))
            shade = (shade - shade.mean()) / shade.std(correction=0)
            mean = torch.stack([shade, 0.11 * shade, 0.09 * shade, torch.full_like(shade, 3.0)], dim=1)
            return vae_module.Posterior(mean, torch.zeros_like(mean))

    vae = BetaVae(COLOR, 4)
    vae.encoder = Means()
    assert active_latents(vae, load_data("signs", "test", folder), torch.device("cpu")) == 2


def test_the_card_says_what_was_trained_and_loading_gives_both_halves(folder: Path, tmp_path: Path) -> None:
    path = trained(folder, tmp_path, epochs=1, beta=2.0)
    card = read_card(path)
    assert path.name == "signs-beta-vae.safetensors"
    assert card["picture"] == [32, 32, 3] and card["latent"] == 4 and "research" in str(card["licence"])
    assert str(card["command"]).startswith(
        "trex models train beta-vae --dataset signs --latent 4 --beta 2 --anneal 4 --seed 1 --epochs 1"
    )
    pictures = load_data("signs", "test", folder).images[:3].astype(np.float32) / np.float32(255)
    both = load_autoencoder(str(path))
    codes = both.encode(pictures)
    drawn = both.decode(codes.mean)
    assert codes.mean.shape == codes.deviation.shape == (3, 4) and drawn.shape == pictures.shape
    assert both.decode(np.zeros((0, 4))).shape == (0, 32, 32, 3)
    renderer = load_decoder(str(path))
    shown = renderer.render([codes.mean[1]])[0].pixels
    assert renderer.latent == 4 and shown == pytest.approx(drawn[1], abs=1e-5)
    digits = load_decoder(str(trained(folder, tmp_path, dataset="mnist", epochs=1)))
    assert digits.render([np.zeros(4)])[0].pixels.shape == (28, 28, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"latent": 0}, "latent 0: give 1 to 1,000"),
        ({"beta": -1.0}, "beta -1.0: give 0 to"),
        ({"beta": math.inf}, "beta inf: give 0 to"),
        ({"anneal": 0}, "anneal 0: give 1 to"),
        ({"dataset": "sings"}, "did you mean 'signs'"),
    ],
)
def test_numbers_that_make_no_autoencoder_are_refused(
    folder: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        trained(folder, tmp_path / "out", **changes)
    assert not (tmp_path / "out").exists()


def test_published_numbers_stand_in_for_those_not_given(folder: Path) -> None:
    for dataset, latent, anneal in (("signs", 15, 500), ("mnist", 10, 500)):
        given = BetaVaePlan(dataset=dataset, device="cpu", data=folder)
        settings = settings_of("beta-vae", given, load_data(dataset, "train", folder))
        assert vars(settings) | {"latent": latent, "beta": 4.0, "anneal": anneal} == vars(settings)
