"""Scores several pairs of networks on the test set and on drawn digits whose truth a committee gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from reproduce.adaptation.measures import DIGITS, NO_DIGIT, Answers, Contrast, Floats, Numbers
from reproduce.adaptation.options import CompareOptions
from trex.foundation.errors import InputError
from trex.foundation.progress import Progress
from trex.mnist_models.datasets import load_data
from trex.mnist_models.load import load_classifier, load_decoder
from trex.mnist_models.models import DecoderRenderer, DigitClassifier

AGREED = 0.6  # the committee sees no digit if its most probable one is less probable on average
BATCH = 250
Pictures = NDArray[np.float32]  # (N, 1, 28, 28) in [0, 1]


@dataclass(frozen=True, eq=False)
class Comparison:
    """A contrast for each pair: on the test set, and on the drawings (empty without a committee)."""

    options: CompareOptions
    pairs: tuple[tuple[str, str], ...]  # (source, adapted)
    test: tuple[Contrast, ...]
    drawn: tuple[Contrast, ...]
    no_digit: int  # drawings in which the committee sees none


def compare(options: CompareOptions, progress: Progress) -> Comparison:
    """Score all networks; InputError for a model or generator that is not of MNIST's digits."""
    pairs = tuple(map(_pair, options.pairs))
    if len(set(pairs)) < len(pairs):
        raise InputError("a pair is given twice; runs count as independent, so give each once")
    networks = {name: _network(name) for name in (*sum(pairs, ()), *options.committee)}
    decoder = _decoder(options.generator) if options.committee else None
    test = load_data("mnist", "test", options.data)
    pictures = (test.images[:, None] / np.float32(255.0)).astype(np.float32)
    on_test = {
        name: Answers(_log_probs(networks[name], pictures, progress), test.labels.astype(np.int64))
        for name in sum(pairs, ())
    }
    contrasts = tuple(Contrast(on_test[source], on_test[adapted]) for source, adapted in pairs)
    if decoder is None:
        return Comparison(options, pairs, contrasts, (), 0)
    z = np.random.default_rng(options.seed).standard_normal((options.draws, decoder.latent))
    with torch.inference_mode():
        parts = [decoder.pixels(torch.from_numpy(z[k : k + BATCH]).float()) for k in range(0, len(z), BATCH)]
    drawings = torch.cat(parts).numpy()
    truth = committee_truth([_log_probs(networks[name], drawings, progress) for name in options.committee])
    on_drawn = {
        name: Answers(_log_probs(networks[name], drawings, progress), truth) for name in sum(pairs, ())
    }
    drawn = tuple(Contrast(on_drawn[source], on_drawn[adapted]) for source, adapted in pairs)
    return Comparison(options, pairs, contrasts, drawn, int((truth == NO_DIGIT).sum()))


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


def _pair(words: str) -> tuple[str, str]:
    source, _, adapted = words.partition(":")
    if not source or not adapted or ":" in adapted:
        raise InputError(f"pair {words!r} is not SOURCE:ADAPTED, e.g. typeset-source-1:typeset-mnist-adda-1")
    return source, adapted
