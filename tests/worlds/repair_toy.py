"""A world for repairs whose truth is known: latents of two numbers, classes "left" and "right" by the first one's sign.

A picture shows its latent exactly, so that decoding and encoding are inverse to each other up to rounding to bytes.
The planted model answers by the first number, except near PLANTED, where it says "left" of right pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from trex.foundation.progress import Progress, silent
from trex.inference.rng import stream
from trex.mnist_models.models import Autoencoder, DigitClassifier
from trex.mnist_models.networks.autoencoders import Posterior
from trex.mnist_models.pictures import DataSet, data_hash
from trex.repair.decoders.loaded import Loaded
from trex.repair.domain import Voters
from trex.repair.folder import RepairFolder, create
from trex.repair.settings import DecoderQuery, repair_query
from trex.repair.steps import Folder, label

NAMES = ("left", "right")
PLANTED, SPREAD = np.array([1.5, 3.0]), 0.25
OUTER = 0.35  # standard deviation of the sound pictures about (-2, 0) and (2, 0)
NOISE_SD = 4.0 / np.sqrt(404.0)  # of the toy query's noise: 4 (Beta(50, 50) - 1/2)
TOML = """
seed = 3
[identify]
scale = 4.0
seeds = 300
draws = 2
held_out = 240
cap = 4
compared = 20
validation = 60
[distill]
components = 1
[label]
tau = 0.5
epochs = 4
[correct]
lambdas = [0.0, 1.0]
seeds = 3
epochs = 3
batch = 32
rate = 0.6
pictures = 48
"""


class Draw(nn.Module):
    """Latents (B, 2) to pictures (B, 1, 28, 28): the upper half shows the first number, the lower the second."""

    def forward(self, z: Tensor) -> Tensor:
        shades = torch.sigmoid(z)  # (B, 2)
        return shades[:, None, :, None].repeat_interleave(14, dim=2).expand(-1, 1, 28, 28)


class Read(nn.Module):
    """The inverse of `Draw`, as a posterior with standard deviation .1."""

    def forward(self, images: Tensor) -> Posterior:
        shades = torch.stack([images[:, 0, :14].mean((1, 2)), images[:, 0, 14:].mean((1, 2))], dim=1)
        mean = torch.logit(shades.clamp(1e-4, 1 - 1e-4))
        return Posterior(mean, torch.full_like(mean, 2.0 * float(np.log(0.1))))


class Planted(nn.Module):
    """Logits of "left" and "right": the first number, against a bump about PLANTED whose height can be learned."""

    def __init__(self, height: float) -> None:
        super().__init__()
        self.read = Read()
        self.height = nn.Parameter(torch.tensor(height))

    def forward(self, images: Tensor) -> Tensor:
        z = self.read(images).mean
        near = torch.exp(-((z - torch.tensor(PLANTED, dtype=z.dtype)) ** 2).sum(1) / 2.0)
        bump = (near - 0.15).clamp(min=0.0)  # exactly 0 elsewhere: other pictures teach nothing about it
        right = 4.0 * z[:, 0] - self.height * bump
        return torch.stack([-right / 2, right / 2], dim=1)


def latents(
    rng: np.random.Generator, n: int, share: float
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """(n, 2): left, right, and this share about PLANTED, which are right pictures too."""
    z = np.where(rng.random(n) < 0.5, -2.0, 2.0)[:, None] * np.array(
        [1.0, 0.0]
    ) + OUTER * rng.standard_normal((n, 2))
    is_planted = rng.random(n) < share
    z[is_planted] = PLANTED + SPREAD * rng.standard_normal((int(is_planted.sum()), 2))
    return z


def data_of(z: np.ndarray[tuple[int, ...], np.dtype[np.float64]], split: str) -> DataSet:
    """The pictures of latents as bytes, labeled truly."""
    pictures = Draw()(torch.from_numpy(z)).numpy()[:, 0]
    images, labels = np.round(pictures * 255).astype(np.uint8), (z[:, 0] > 0).astype(np.uint8)
    return DataSet("toy", split, images, labels, NAMES, data_hash(images, labels))


def toy(height: float = 20.0, share: float = 0.2, n: int = 500) -> Loaded:
    """The toy's generator, planted model (height 0: a sound one) and pictures."""
    generator = Autoencoder("toy-vae", Read().eval(), Draw().eval(), 2, NAMES, "toy", "0" * 64)
    model = DigitClassifier(f"planted {height}", Planted(height).eval(), NAMES, "toy", f"{height}")
    splits = (data_of(latents(stream(5, k), n, share), name) for k, name in enumerate(("train", "test")))
    return Loaded(generator, model, *splits, kind="planted")


def toy_query(**changes: object) -> DecoderQuery:
    """The toy's query; a change such as identify={"noise": "printed"} replaces keys of a section."""
    from trex.query.toml_file import parse_table

    table = parse_table(TOML, "toy")
    for section, keys in changes.items():
        known = table.get(section)
        both = isinstance(known, dict) and isinstance(keys, dict)
        table[section] = {**known, **keys} if both else keys  # type: ignore[dict-item]
    return repair_query(table, "toy")


def toy_folder(path: Path, loaded: Loaded, query: DecoderQuery | None = None) -> RepairFolder:
    """A repair of the toy in this folder, begun or opened."""
    return create(path, TOML, query or toy_query(), loaded.sources)


def tree(path: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes."""
    return {
        str(item.relative_to(path)): item.read_bytes() for item in sorted(path.rglob("*")) if item.is_file()
    }


def label_by_committee(folder: Folder, loaded: Loaded, progress: Progress) -> None:
    """The step with the votes of five networks."""
    label(folder, loaded, progress)


def label_by_files(folder: Folder, loaded: Loaded, paths: Sequence[Path], without: tuple[str, ...]) -> None:
    """The step with the votes in CSV files."""
    label(folder, loaded, silent, Voters({path: path.read_text() for path in paths}, without))
