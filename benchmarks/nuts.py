"""Seconds a draw of NUTS on digits, beside what the paper's took on a graphics card: VAE and classifier.

Weights are those at hand (shipped, or trained here); where there are none, random ones: the cost of a gradient is the
same, but not how many a draw needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from benchmarks.figure import note, show
from foundation.errors import InputError
from inference.nuts import Density, NutsCheckpoint, NutsOptions, nuts_rounds, start_nuts
from inference.nuts_density import Point
from inference.targets import high_confidence
from inference.types import Evaluation, State
from mnist_models.load import load_classifier, load_decoder
from mnist_models.networks import Classifier
from mnist_models.vae import LATENT, VaeDecoder

PAPER_S = {"mnist": 1.18, "fashion": 1.96}  # a sample on one GTX 1080 (Booth et al. 2021)
LABELS = tuple("0123456789")
OPTIONS = NutsOptions(warmup=80, path=30)
UNSEEN = Evaluation(0.0, 0.0, np.zeros(len(LABELS)), None)  # chains weigh their starts themselves
DRAWS = {1: 40, 4: 20, 16: 8}  # chains, and draws of each
LANES = (1, 4, 16)
LogProbs = Callable[[Tensor], Tensor]


def nuts() -> None:
    """CPU seconds a draw after warmup with 1, 4 and 16 chains, with 4 chains one by one, and ms a gradient."""
    torch.set_num_threads(1)
    for dataset, paper_s in PAPER_S.items():
        log_probs, labels = networks(dataset)
        density = Density(log_probs, high_confidence(labels, labels[1]))
        warm = warmed_up(density)
        for chains, draws in DRAWS.items():
            spent = seconds_a_draw(density, replace(warm, points=warm.points[:chains]), draws)
            show(f"nuts.{dataset}.{chains}", spent, "CPU s a draw")
            show(f"nuts.{dataset}.{chains}.ratio", paper_s / spent, "the paper's s over ours")
        alone = seconds_a_draw(replace(density, lane=1), replace(warm, points=warm.points[:4]), DRAWS[4])
        show(f"nuts.{dataset}.4.one_by_one", alone, "CPU s a draw")
        for lane in LANES:
            show(f"nuts.{dataset}.gradient.{lane}", 1e3 * gradient_s(replace(density, lane=lane)), "CPU ms")


def networks(dataset: str) -> tuple[LogProbs, tuple[str, ...]]:
    """From latents to log probabilities, and their names."""
    try:
        classifier, decoder = load_classifier(f"{dataset}-classifier"), load_decoder(f"{dataset}-vae")
    except InputError:
        note(f"no {dataset} weights at hand: random ones")
        torch.manual_seed(0)
        plain, vae = Classifier(10).eval().requires_grad_(False), VaeDecoder().eval().requires_grad_(False)
        return lambda z: (20.0 * plain(vae(4.0 * z.float()))).double().log_softmax(1), LABELS
    return lambda z: classifier.differentiable_log_probs(decoder.pixels(z.float())), classifier.labels


def warmed_up(density: Density) -> NutsCheckpoint:
    """The most chains that are measured, after warmup: fewer of them draw the same."""
    rng = np.random.default_rng(1)
    states = [State(rng.standard_normal(LATENT), UNSEEN) for _ in range(max(DRAWS))]
    *_, last = nuts_rounds(density, OPTIONS, start_nuts(1, states), OPTIONS.warmup)
    return last.checkpoint


def seconds_a_draw(density: Density, warm: NutsCheckpoint, draws: int) -> float:
    """Over all chains; the gradients that a draw took are told."""
    total = len(warm.points) * draws
    began, gradients = time.process_time(), 0
    for done in nuts_rounds(density, OPTIONS, warm, OPTIONS.warmup + draws):
        gradients += done.renders
    spent = (time.process_time() - began) / total
    note(f"{len(warm.points)} chains, lane {density.lane}: {gradients / total:.1f} gradients a draw")
    return spent


def gradient_s(density: Density) -> float:
    """One gradient of a full lane."""
    rng = np.random.default_rng(2)
    points = {c: Point(rng.standard_normal(LATENT)) for c in range(density.lane)}
    density.evaluate(points)
    times = 32 // density.lane + 2
    began = time.process_time()
    for _ in range(times):
        density.evaluate(points)
    return (time.process_time() - began) / (times * density.lane)
