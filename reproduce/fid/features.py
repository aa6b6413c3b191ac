"""The FID of a decoder, by the features of a classifier of its data set, or of Inception with weights from a file.

Frechet distance between two sets of features (FID: Heusel et al. 2017, https://arxiv.org/abs/1706.08500, eq. 6).
Published values use the features of an Inception network trained on ImageNet (`inception.py`). The others use the
last hidden layer of a classifier of the same data set: values of the two must never be compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import linalg
from torch import Tensor, nn

from reproduce.fid.inception import SHA256_BEGINS, load_inception
from trex.artifacts.card import card_path, read_card, write_whole
from trex.artifacts.precision import training_device
from trex.foundation.errors import InputError
from trex.foundation.json_fields import mapping
from trex.mnist_models.datasets import load_data
from trex.mnist_models.load import load_classifier, load_decoder, weights_path
from trex.mnist_models.models import DigitClassifier
from trex.mnist_models.pictures import DataSet, chosen_classes, with_classes
from trex.mnist_models.training.loop import to_images
from trex.mnist_models.training.quality import Figures

Floats = NDArray[np.float64]
INCEPTION_SUFFIX = ".pth"
FID_PICTURES = 10_000
INCEPTION_PICTURES = 1_000  # as many as in the paper's table 7


class Moments(NamedTuple):
    """Mean (d,) and covariance (d, d) of features."""

    mean: Floats
    covariance: Floats


def moments(features: NDArray[np.float32] | NDArray[np.float64]) -> Moments:
    """The moments of features (N, d), N >= 2; the covariance is the unbiased estimate."""
    if features.ndim != 2 or len(features) < 2:
        raise InputError(f"features are {features.shape}; a covariance needs (N, d) with N of at least 2")
    wide = features.astype(np.float64)
    return Moments(wide.mean(axis=0), np.atleast_2d(np.cov(wide, rowvar=False)))


def frechet_distance(a: Moments, b: Moments) -> float:
    """|m_a - m_b|^2 + tr(C_a + C_b - 2 (C_a C_b)^(1/2)), also for covariances without full rank.

    The trace of the root equals that of (C_a^(1/2) C_b C_a^(1/2))^(1/2), which is symmetric: no complex rounding
    error.
    """
    root = _root(a.covariance)
    shared = linalg.eigvalsh(root @ b.covariance @ root)
    overlap = float(np.sqrt(np.clip(shared, 0.0, None)).sum())
    gap = a.mean - b.mean
    return float(gap @ gap + np.trace(a.covariance) + np.trace(b.covariance) - 2.0 * overlap)


def _root(covariance: Floats) -> Floats:
    """The symmetric square root of a covariance; negative eigenvalues are rounding errors and count as 0."""
    values, vectors = linalg.eigh(covariance)
    root: Floats = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    return root


@dataclass(frozen=True, eq=False)
class FidFeatures:
    """Features (B, d) of pictures (B, 1, 28, 28) in [0, 1], and the name of their FID on a card."""

    key: str  # the figure's key and the prefix of the others': fid, or fid_inception
    network: str  # in words, with the values that it may be compared with
    sha256: str
    features: nn.Module
    dataset: str | None  # the only data set whose FID it gives; None: any
    pictures: int  # drawn ones, and at most this many real ones
    batch: int


def load_fid_features(spec: str) -> FidFeatures:
    """A classifier by name or path, as for `load_classifier`, or Inception's weights, a path that ends in .pth.

    InputError describes any fault in the name or the file.
    """
    if spec.endswith(INCEPTION_SUFFIX):
        return _inception(Path(spec))
    return classifier_features(load_classifier(spec))


def classifier_features(classifier: DigitClassifier) -> FidFeatures:
    """The last hidden layer of a classifier as features, for comparing decoders of its data set."""
    network = f"last hidden layer of {classifier.name}, not Inception: compare with no published value"
    features = classifier.module.get_submodule("features")
    return FidFeatures(
        "fid", network, classifier.sha256, features, classifier.dataset, FID_PICTURES, batch=500
    )


def _inception(path: Path) -> FidFeatures:
    features, sha256 = load_inception(path)
    if sha256.startswith(SHA256_BEGINS):
        network = (
            "Inception of 2015-12-05, sized and scaled as by pytorch-fid, of "
            f"{INCEPTION_PICTURES:,} pictures: compare with published values of as many"
        )
    else:
        network = (
            f"Inception with weights of {path.name}, not the published ones: compare with no published value"
        )
    return FidFeatures("fid_inception", network, sha256, features, None, INCEPTION_PICTURES, batch=50)


def measure(
    decoder: str, fid_features: FidFeatures, data: Path | None, device: str, *, is_kept: bool
) -> Figures:
    """A decoder's FID on the test pictures of its classes, by these features; `is_kept` adds it to its card."""
    place, loaded = training_device(device), load_decoder(decoder)
    if fid_features.dataset not in (None, loaded.dataset):
        raise InputError(
            f"--features is a classifier of {fid_features.dataset}; the FID of {loaded.dataset} needs one of "
            "that data set"
        )
    test = load_data(loaded.dataset, "test", data)
    test = with_classes(test, chosen_classes(test.names, loaded.labels))
    found = decoder_fid(loaded.decoder.to(place), loaded.latent, fid_features, test, place)
    if is_kept:
        weights = weights_path(decoder)
        card = read_card(weights)
        figures = {**mapping(card["figures"], "figures"), **found}
        write_whole(card_path(weights), (json.dumps({**card, "figures": figures}, indent=1) + "\n").encode())
    return found


def decoder_fid(
    decoder: nn.Module, latent: int, fid_features: FidFeatures, data: DataSet, device: torch.device
) -> Figures:
    """FID between decoded prior draws and a split (evenly spaced pictures of a larger one), by these features."""
    features = fid_features.features.to(device)
    z = np.random.default_rng(0).standard_normal((fid_features.pictures, latent)).astype(np.float32)
    images = data.images[:: max(1, len(data.images) // fid_features.pictures)][: fid_features.pictures]
    with torch.inference_mode():
        drawn = [
            features(decoder(torch.from_numpy(z[rows]).to(device)))
            for rows in _rows(len(z), fid_features.batch)
        ]
        real = [features(to_images(images[rows], device)) for rows in _rows(len(images), fid_features.batch)]
    return {
        fid_features.key: frechet_distance(moments(_stack(drawn)), moments(_stack(real))),
        f"{fid_features.key}_features": fid_features.network,
        f"{fid_features.key}_sha256": fid_features.sha256,
        f"{fid_features.key}_draws": len(z),
        f"{fid_features.key}_split": data.split,
        f"{fid_features.key}_pictures": len(images),
    }


def _stack(parts: list[Tensor]) -> NDArray[np.float32]:
    stacked: NDArray[np.float32] = torch.cat(parts).cpu().numpy()
    return stacked


def _rows(n: int, batch: int) -> Iterator[slice]:
    for start in range(0, n, batch):
        yield slice(start, start + batch)
