"""Quality of a trained model: accuracy of a classifier, evidence bound of a decoder."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from trex.mnist_models.networks.autoencoders import BetaVae, Vae
from trex.mnist_models.pictures import DataSet
from trex.mnist_models.training.loop import to_images

BATCH = 500
ACTIVE = 0.01  # the variance above which a latent counts as active
Figures = dict[str, object]


def classifier_figures(module: nn.Module, data: DataSet, device: torch.device) -> Figures:
    """The number of pictures of a split that it classifies correctly."""
    right = 0
    with torch.inference_mode():
        for rows in _rows(len(data.images)):
            answers = module(to_images(data.images[rows], device)).argmax(dim=1).cpu().numpy()
            right += int((answers == data.labels[rows]).sum())
    n = len(data.images)
    return {"split": data.split, "n": n, "right": right, "accuracy": right / n}


def vae_figures(vae: Vae | BetaVae, data: DataSet, device: torch.device) -> Figures:
    """The negative evidence bound of a split, in nats per picture, with one seeded draw each."""
    total = 0.0
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(0)
        for rows in _rows(len(data.images)):
            total += float(sum(vae.terms(to_images(data.images[rows], device))))
    return {"split": data.split, "n": len(data.images), "loss": total / len(data.images)}


def active_latents(vae: BetaVae, data: DataSet, device: torch.device) -> int:
    """How many latents tell pictures apart: Var_x of the posterior's mean above .01 (Burda et al. 2016, section 5)."""
    with torch.inference_mode():
        parts = [vae.encoder(to_images(data.images[rows], device)).mean for rows in _rows(len(data.images))]
    return int((torch.cat(parts).var(dim=0, correction=0) > ACTIVE).sum())


def _rows(n: int) -> Iterator[slice]:
    for start in range(0, n, BATCH):
        yield slice(start, start + BATCH)
