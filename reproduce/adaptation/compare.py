"""Scores several pairs of networks on the test set and on drawn digits whose truth a committee gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from reproduce.adaptation.measures import DIGITS, NO_DIGIT, Answers, Contrast, Floats, Numbers
from trex.foundation.errors import InputError
from trex.foundation.progress import Progress
from trex.mnist_models.datasets import load_data
from trex.mnist_models.load import load_classifier, load_decoder
from trex.mnist_models.models import DecoderRenderer, DigitClassifier
from trex.mnist_models.training.loop import check_number

AGREED = 0.6  # the committee sees no digit if its most probable one is less probable on average
BATCH = 250
MAX_DRAWS = 1_000_000
Pictures = NDArray[np.float32]  # (N, 1, 28, 28) in [0, 1]


@dataclass(frozen=True)
class Request:
    """Pairs of models (source, adapted), by name or path, one for each training run, and on what to compare them.

    `draws` pictures of `generator` with prior latents are labelled by the `committee`; none without a committee.
    """

    pairs: tuple[tuple[str, str], ...]
    committee: tuple[str, ...] = ()
    generator: str = "mnist-gan"
    draws: int = 10_000
    seed: int = 0
    data: Path | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """A contrast for each pair: on the test set, and on the drawings (empty without a committee)."""

    request: Request
    test: tuple[Contrast, ...]
    drawn: tuple[Contrast, ...]
    no_digit: int  # drawings in which the committee sees none


def compare(request: Request, progress: Progress) -> Comparison:
    """Score all networks; InputError for a model or generator that is not of MNIST's digits, or without a pair."""
    if not request.pairs or request.draws < 1:
        raise InputError(f"{len(request.pairs)} pairs and {request.draws} draws; both must be at least 1")
    check_number("draws", request.draws, 1, MAX_DRAWS)
    check_number("seed", request.seed, 0, (1 << 63) - 1)
    if len(set(request.pairs)) < len(request.pairs):
        raise InputError("a pair is given twice; runs count as independent, so give each once")
    networks = {name: _network(name) for name in (*sum(request.pairs, ()), *request.committee)}
    decoder = _decoder(request.generator) if request.committee else None
    test = load_data("mnist", "test", request.data)
    pictures = (test.images[:, None] / np.float32(255.0)).astype(np.float32)
    on_test = {
        name: Answers(_log_probs(networks[name], pictures, progress), test.labels.astype(np.int64))
        for name in sum(request.pairs, ())
    }
    contrasts = tuple(Contrast(on_test[source], on_test[adapted]) for source, adapted in request.pairs)
    if decoder is None:
        return Comparison(request, contrasts, (), 0)
    z = np.random.default_rng(request.seed).standard_normal((request.draws, decoder.latent))
    with torch.inference_mode():
        parts = [decoder.pixels(torch.from_numpy(z[k : k + BATCH]).float()) for k in range(0, len(z), BATCH)]
    drawings = torch.cat(parts).numpy()
    truth = committee_truth([_log_probs(networks[name], drawings, progress) for name in request.committee])
    on_drawn = {
        name: Answers(_log_probs(networks[name], drawings, progress), truth)
        for name in sum(request.pairs, ())
    }
    drawn = tuple(Contrast(on_drawn[source], on_drawn[adapted]) for source, adapted in request.pairs)
    return Comparison(request, contrasts, drawn, int((truth == NO_DIGIT).sum()))


def committee_truth(log_probs: Sequence[Floats]) -> Numbers:
    """The digit (N,) with the largest mean probability over members (N, 10), NO_DIGIT if that is below AGREED."""
    mean = np.mean([np.exp(rows) for rows in log_probs], axis=0)
    return np.where(mean.max(axis=1) >= AGREED, mean.argmax(axis=1), NO_DIGIT).astype(np.int64)


def _network(name: str) -> DigitClassifier:
    network = load_classifier(name)
    if network.dataset != "mnist" or len(network.labels) != DIGITS:
        raise InputError(
            f"{name} is a classifier of {', '.join(network.labels)} ({network.dataset}); one of ten digits is due here"
        )
    return network


def _decoder(name: str) -> DecoderRenderer:
    decoder = load_decoder(name)
    if decoder.dataset != "mnist":
        raise InputError(
            f"generator {name} draws pictures of {decoder.dataset}; one of MNIST's digits is due here, e.g. mnist-gan"
        )
    return decoder


def _log_probs(network: DigitClassifier, pictures: Pictures, progress: Progress) -> Floats:
    """(N, 10), in batches: a search scores pictures one at a time, which may differ in the last bits."""
    rows = []
    with torch.inference_mode():
        for k in range(0, len(pictures), BATCH):
            rows.append(network.differentiable_log_probs(torch.from_numpy(pictures[k : k + BATCH])).numpy())
            progress(f"{network.name}: pictures scored", min(k + BATCH, len(pictures)), len(pictures))
    return np.concatenate(rows)
