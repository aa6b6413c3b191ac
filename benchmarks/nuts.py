"""Seconds a draw of NUTS on digits, beside what the paper's took on a graphics card: VAE and classifier.

Weights are those at hand (shipped, or trained here); where there are none, random ones: the cost of a gradient is the
same, but not how many a draw needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from benchmarks.figure import note, show, show_spread
from trex.foundation.errors import InputError
from trex.inference.chains import Checkpoint, start
from trex.inference.nuts.density import Point
from trex.inference.nuts.options import GRADIENTS
from trex.inference.nuts.sampler import Density, NutsOptions, lane_of, nuts_rounds
from trex.inference.targets import high_confidence
from trex.inference.types import Floats, unscored
from trex.mnist_models.card import LATENT
from trex.mnist_models.load import load_classifier, load_decoder
from trex.mnist_models.networks.autoencoders import VaeDecoder
from trex.mnist_models.networks.classifiers import Classifier

PAPER_S = {"mnist": 1.18, "fashion": 1.96}  # a sample on one GTX 1080 (Booth et al. 2021)
LABELS = tuple("0123456789")
OPTIONS = NutsOptions(warmup=80, path=30)
DRAWS = {1: 10, 4: 10, 16: 10}  # chains, and draws of each
LANES = (1, 4, 16)
SEEDS = 5
LogProbs = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Cost:
    """What a draw took: CPU seconds and gradients."""

    cpu_s: float
    gradients: float


def nuts(seeds: int = SEEDS) -> None:
    """CPU seconds and gradients a draw after warmup with 1, 4 and 16 chains, and 4 one by one; ms a gradient.

    What a draw takes depends on the step size that each chain has found, so each figure is the least, the median and
    the most: of 16 chains a seed, of their 4 groups of 4, of the 16 together. Chains are independent, so each is what
    another seed would have been for one chain.
    """
    torch.set_num_threads(1)
    for dataset, paper_s in PAPER_S.items():
        log_probs, labels = networks(dataset)
        density = Density(log_probs, high_confidence(labels, labels[1]))
        costs: dict[str, list[Cost]] = {}
        for seed in range(1, seeds + 1):
            for name, found in costs_of_seed(density, seed).items():
                costs.setdefault(name, []).extend(found)
        for name, of_groups in costs.items():
            show_costs(f"nuts.{dataset}.{name}", of_groups, paper_s)
        for lane in LANES:
            show(f"nuts.{dataset}.density.{lane}", 1e3 * gradient_s(replace(density, lane=lane)), "CPU ms")


def show_costs(name: str, costs: Sequence[Cost], paper_s: float) -> None:
    """Seconds and gradients a draw, their quotient, and how many times less than the paper's seconds that is."""
    show_spread(name, [cost.cpu_s for cost in costs], "CPU s a draw")
    show_spread(f"{name}.gradients", [cost.gradients for cost in costs], "a draw")
    show_spread(
        f"{name}.gradient", [1e3 * cost.cpu_s / cost.gradients for cost in costs], "CPU ms a gradient"
    )
    show_spread(f"{name}.ratio", [paper_s / cost.cpu_s for cost in costs], "the paper's s over ours")


def costs_of_seed(density: Density, seed: int) -> dict[str, list[Cost]]:
    """What a draw costs with each number of chains, for all groups of so many of one warmup."""
    warm = warmed_up(density, seed)
    found = {str(size): costs_of_groups(replace(density, lane=lane_of(size)), warm, size) for size in DRAWS}
    return found | {"4.one_by_one": costs_of_groups(replace(density, lane=1), warm, 4)}


def costs_of_groups(density: Density, warm: Checkpoint[Floats], size: int) -> list[Cost]:
    """One for each group of `size` of the chains."""
    groups = [
        Checkpoint(warm.states[at : at + size], warm.rng_states[at : at + size], warm.next_index)
        for at in range(0, len(warm.states), size)
    ]
    return [cost_of_draws(density, group, DRAWS[size]) for group in groups]


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


def warmed_up(density: Density, seed: int) -> Checkpoint[Floats]:
    """The most chains that are measured, after warmup: fewer of them draw the same."""
    rng = np.random.default_rng(seed)
    states = [unscored(rng.standard_normal(LATENT)) for _ in range(max(DRAWS))]
    note(f"seed {seed}: warmup of {len(states)} chains")
    *_, last = nuts_rounds(density, OPTIONS, start(seed, states), OPTIONS.warmup)
    return last


def cost_of_draws(density: Density, warm: Checkpoint[Floats], draws: int) -> Cost:
    """A draw's share of what all chains' draws took."""
    total = len(warm.states) * draws
    began, gradients = time.process_time(), 0.0
    for done in nuts_rounds(density, OPTIONS, warm, OPTIONS.warmup + draws):
        gradients += sum(draw.figures[GRADIENTS] for draw in done.draws)
    cost = Cost((time.process_time() - began) / total, gradients / total)
    note(
        f"{len(warm.states)} chains, lane {density.lane}: {cost.gradients:.1f} gradients, {cost.cpu_s:.3f} s a draw"
    )
    return cost


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
