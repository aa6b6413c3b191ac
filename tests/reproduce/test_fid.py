"""The Inception network against torch-fidelity's, its file, and the FID by it."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import linalg
from torch import Tensor, nn

from reproduce.fid import inception
from reproduce.fid.features import (
    FidFeatures,
    Moments,
    classifier_features,
    decoder_fid,
    frechet_distance,
    load_fid_features,
    measure,
    moments,
)
from reproduce.fid.inception import InceptionFeatures, MixedBlock, load_inception
from tests.reproduce.command_line import reproduce, reproduced
from tests.running.command_line import refused
from tests.worlds.mnist_worlds import N_TEST, write_data
from trex.artifacts.card import read_card
from trex.artifacts.weights import load_into
from trex.foundation.errors import InputError
from trex.mnist_models.card import LATENT
from trex.mnist_models.datasets import load_data
from trex.mnist_models.load import load_classifier
from trex.mnist_models.training.options import Plan
from trex.mnist_models.training.train import train

PLACES = [0, 256, 320, 512, 768, 1088, 1855, 1856, 2047]
# What torch-fidelity 0.4.0's FeatureExtractorInceptionV3 gives with the weights and pictures below, at these places.
PUBLISHED = torch.tensor(
    [
        [0.88628, 3.19528, 9.65128, 42.07532, 1.32377, 21.52641, 11.92396, 0.38035, 0.00000],
        [0.91618, 3.32060, 9.66940, 42.32701, 1.38556, 21.54696, 11.84509, 0.41409, 0.00000],
    ]
)


def known_weights(network: nn.Module) -> dict[str, Tensor]:
    """Weights that depend on nothing but the names of the tensors."""
    found = {}
    for name, tensor in network.state_dict().items():
        values = np.random.default_rng(zlib.crc32(name.encode())).uniform(-1, 1, tuple(tensor.shape))
        if name.endswith("num_batches_tracked"):
            found[name] = tensor
            continue
        if name.endswith(("running_var", "bn.weight")):
            values = 1 + 0.5 * values
        else:
            values *= np.sqrt(6 / np.prod(tensor.shape[1:])) if tensor.ndim == 4 else 0.3
        found[name] = torch.from_numpy(values.astype(np.float32))
    return found


def pictures() -> Tensor:
    """Two of noise, scaled so that the network sees (x - 128) / 128, as torch-fidelity scales them."""
    x = torch.from_numpy(np.random.default_rng(5).integers(0, 256, (2, 3, 299, 299), dtype=np.uint8))
    return ((x.float() - 128) / 128 + 1) / 2


def features_of_known() -> Tensor:
    network = InceptionFeatures().eval()
    load_into(network, known_weights(network), Path("known"))
    with torch.inference_mode():
        found: Tensor = network(pictures())
    return found


def test_features_are_those_of_torch_fidelity(monkeypatch: pytest.MonkeyPatch) -> None:
    found = features_of_known()
    assert found.shape == (2, inception.FEATURES)
    torch.testing.assert_close(found[:, PLACES], PUBLISHED, rtol=1e-4, atol=1e-4)
    last = inception.BLOCKS[-1]
    planted = (*inception.BLOCKS[:-1], last._replace(pool="average"))  # as torchvision has it
    monkeypatch.setattr(inception, "BLOCKS", planted)
    assert not torch.allclose(features_of_known()[:, PLACES], PUBLISHED, rtol=1e-2)


def test_averages_leave_padding_out() -> None:
    block = MixedBlock(4, inception.Block("b", (), "average", 3)).eval()
    unit = block.get_submodule("branch_pool")
    nn.init.ones_(unit.get_submodule("conv").weight)  # type: ignore[arg-type]
    found = block(torch.ones(1, 4, 5, 5))
    assert found.shape == (1, 3, 5, 5)
    torch.testing.assert_close(found, torch.full_like(found, 4.0), rtol=1e-3, atol=0.0)  # edges as the middle


def test_the_size_is_the_published_one() -> None:
    """23,834,568 weights of Szegedy's network for 1,000 classes, as torchvision counts them, less its last layer."""
    n = sum(p.numel() for p in InceptionFeatures().parameters())
    assert n == 23_834_568 - (2048 + 1) * 1000


def test_gray_small_pictures_are_sized_and_repeated() -> None:
    seen: list[Tensor] = []
    network = InceptionFeatures().eval()
    network.get_submodule("Conv2d_1a_3x3").register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    with torch.inference_mode():
        network(torch.cat([torch.zeros(1, 1, 28, 28), torch.ones(1, 1, 28, 28)]))
    (x,) = seen
    assert x.shape == (2, 3, 299, 299) and bool((x[0] == -1).all()) and bool((x[1] == 1).all())


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As the published file: with a classifier of 1,008 and without counters."""
    path = tmp_path_factory.mktemp("inception") / "pt_inception.pth"
    state = known_weights(InceptionFeatures())
    kept = {name: t for name, t in state.items() if not name.endswith("num_batches_tracked")}
    torch.save(kept | {"fc.weight": torch.zeros(1008, 2048), "fc.bias": torch.zeros(1008)}, path)
    return path


def test_a_file_is_read_without_its_classifier(weights: Path) -> None:
    network, sha256 = load_inception(weights)
    with torch.inference_mode():
        torch.testing.assert_close(network(pictures())[:, PLACES], PUBLISHED, rtol=1e-4, atol=1e-4)
    assert len(sha256) == 64
    fid_features = load_fid_features(str(weights))
    assert fid_features.key == "fid_inception" and "not the published ones" in fid_features.network


def test_bad_files_are_refused(weights: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pth"
    cut.write_bytes(weights.read_bytes()[:-1000])
    other = tmp_path / "other.pth"
    torch.save({"weight": torch.zeros(2)}, other)
    whole = tmp_path / "whole.pth"
    torch.save(nn.Linear(2, 2), whole)
    for path, message in (
        (cut, "truncated or damaged"),
        (other, "are not of InceptionFeatures"),
        (whole, "nothing in it was executed"),
        (tmp_path / "none.pth", "is missing"),
    ):
        with pytest.raises(InputError, match=message):
            load_fid_features(str(path))


class _Few(nn.Module):
    """Stands for a costly network: two features of a picture."""

    def forward(self, images: Tensor) -> Tensor:
        return torch.stack([images.mean(dim=(1, 2, 3)), images[:, 0, :14].mean(dim=(1, 2))], dim=1)


class _Decoder(nn.Module):
    def forward(self, z: Tensor) -> Tensor:
        return z[:, :1, None, None].sigmoid().expand(-1, 1, 28, 28)


def test_real_pictures_are_chosen_at_even_distances(tmp_path: Path) -> None:
    data = load_data("mnist", "test", write_data(tmp_path))
    fid_features = FidFeatures("fid_inception", "few", "0" * 64, _Few(), None, pictures=10, batch=4)
    found = decoder_fid(_Decoder(), LATENT, fid_features, data, torch.device("cpu"))
    assert found["fid_inception_draws"] == found["fid_inception_pictures"] == 10
    every_third = replace(data, images=data.images[::3], labels=data.labels[::3])
    assert decoder_fid(_Decoder(), LATENT, fid_features, every_third, torch.device("cpu")) == found
    assert (
        decoder_fid(_Decoder(), LATENT, replace(fid_features, pictures=1000), data, torch.device("cpu"))
        != found
    )


def test_a_card_holds_both_fids_of_its_own_classes(tmp_path: Path) -> None:
    folder, out = write_data(tmp_path / "data"), tmp_path / "out"
    plan = Plan(
        dataset="mnist", without=("3", "4"), epochs=1, batch_size=20, device="cpu", data=folder, out=out
    )
    lenet = load_classifier(str(train("lenet", plan.changed(without=()))))
    decoder = train("vae", plan)
    weights, before = decoder.read_bytes(), read_card(decoder)
    for features in (
        replace(classifier_features(lenet), pictures=40),
        FidFeatures("fid_inception", "Inception", "1" * 64, _Few(), None, 20, 10),
    ):
        found = measure(str(decoder), features, folder, "cpu", is_kept=True)
        assert measure(str(decoder), features, folder, "cpu", is_kept=False) == found
    figures = read_card(decoder)["figures"]
    assert isinstance(figures, dict) and figures["fid"] != figures["fid_inception"]
    assert "not Inception" in figures["fid_features"] and figures["fid_inception_features"] == "Inception"
    assert figures["fid_pictures"] == N_TEST * 8 // 10
    own = {key: value for key, value in figures.items() if not key.startswith("fid")}
    assert {**read_card(decoder), "figures": own} == before and decoder.read_bytes() == weights


def test_the_fid_of_another_data_set_is_refused(tmp_path: Path) -> None:
    folder = write_data(tmp_path / "data")
    refused(
        reproduce("fid", "mnist-gan", "--features", "fashion-classifier", "--data", folder),
        "--features is a classifier of fashion",
    )
    refused(reproduce("fid", "mnist-gan", "--features", "nobody"), "digit model 'nobody'")
    found = json.loads(
        reproduced("fid", "mnist-gan", "--features", "mnist-classifier", "--data", folder, "--json").stdout
    )
    assert found["fid"] > 0 and found["fid_pictures"] == N_TEST


def random_covariance(rng: np.random.Generator, d: int) -> np.ndarray:
    matrix = rng.standard_normal((d, d))
    return np.asarray(matrix @ matrix.T + 0.1 * np.eye(d))


def test_the_distance_of_normals_in_one_dimension() -> None:
    """(m1 - m2)^2 + (s1 - s2)^2 (Dowson and Landau 1982)."""
    a = Moments(np.array([1.0]), np.array([[4.0]]))
    b = Moments(np.array([4.0]), np.array([[0.25]]))
    assert frechet_distance(a, b) == pytest.approx(9.0 + 1.5**2)


def test_the_distance_equals_the_formula_with_a_general_square_root() -> None:
    rng = np.random.default_rng(1)
    for d in (2, 7, 30):
        a = Moments(rng.standard_normal(d), random_covariance(rng, d))
        b = Moments(rng.standard_normal(d), random_covariance(rng, d))
        root = np.real(linalg.sqrtm(a.covariance @ b.covariance))
        gap = a.mean - b.mean
        literal = gap @ gap + np.trace(a.covariance + b.covariance - 2.0 * root)
        assert frechet_distance(a, b) == pytest.approx(literal, rel=1e-9)
        assert frechet_distance(a, b) == pytest.approx(frechet_distance(b, a), rel=1e-9)
        assert frechet_distance(a, a) == pytest.approx(0.0, abs=1e-8)
        without_root = (
            gap @ gap + np.trace(a.covariance + b.covariance) - 2.0 * np.trace(a.covariance @ b.covariance)
        )  # planted: the root forgotten
        assert frechet_distance(a, b) != pytest.approx(without_root, rel=1e-3)


def test_features_that_never_fire_do_no_harm() -> None:
    """Covariances without full rank: the two dead features add nothing, a third adds its own variance."""
    rng = np.random.default_rng(2)
    live = rng.standard_normal((500, 3))
    dead = np.hstack([live, np.zeros((500, 2))])
    other = np.hstack([2.0 * live + 1.0, np.zeros((500, 2))])
    expected = frechet_distance(moments(live), moments(2.0 * live + 1.0))
    assert frechet_distance(moments(dead), moments(other)) == pytest.approx(expected, rel=1e-9)
    woken = other.copy()
    woken[:, 3] = rng.standard_normal(500)
    assert frechet_distance(moments(dead), moments(woken)) > expected + 0.5


def test_samples_of_known_normals_come_near_their_distance() -> None:
    """Mean shift 1 in each of 4 coordinates, standard deviation doubled: 4 + 4 = 8; equal ones: 0."""
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((20_000, 4)), 1.0 + 2.0 * rng.standard_normal((20_000, 4))
    assert frechet_distance(moments(a), moments(b)) == pytest.approx(8.0, abs=0.3)
    assert frechet_distance(moments(a), moments(rng.standard_normal((20_000, 4)))) < 0.01


def test_too_few_features_are_refused() -> None:
    with pytest.raises(InputError, match="at least 2"):
        moments(np.zeros((1, 3)))
