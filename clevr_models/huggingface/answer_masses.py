"""Probabilities of answers from the logits of every candidate: exact sums over replies.

The row adds up to 1: an answer has the probabilities of all its candidates, `<unparsed>` what is left. Nothing is
normalized by length or over the list of answers.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trex.clevr_models.chat.token_mass import UNPARSED
from trex.clevr_models.huggingface.candidates import Candidates
from trex.clevr_models.interface.answers import ANSWERS
from trex.foundation.errors import ModelError

LABELS = (*ANSWERS, UNPARSED)
ROUNDING = 1e-3  # by which probabilities may add up to more than 1: sums of numbers with 32 bits


def answer_row(
    candidates: Candidates, logits: Iterable[Tensor], rounding: float = ROUNDING
) -> NDArray[np.float64]:
    """Probabilities (29,) in the order of LABELS, from logits (r, L + 1, V) of the candidates' rows in their order.

    ModelError if they are not finite, or add up to more than 1 by more than `rounding`: with 16 bits, the same token
    gets slightly different probabilities in different rows.
    """
    shares = torch.exp(candidate_log_likelihoods(candidates, logits))
    found = dict.fromkeys(LABELS, 0.0)
    for one, share in zip(candidates.every, shares.tolist(), strict=True):
        found[one.answer] += share
    total = sum(found.values())
    if not total <= 1 + rounding:  # True for NaN
        why = "the model's logits are not finite" if not np.isfinite(total) else "that is more than rounding"
        raise ModelError(f"the probabilities of all replies add up to {total:g}; {why}")
    found[UNPARSED] = max(0.0, 1.0 - total)
    row = np.array([found[label] for label in LABELS])
    normalized: NDArray[np.float64] = row / row.sum()  # only rounding
    return normalized


def candidate_log_likelihoods(candidates: Candidates, logits: Iterable[Tensor]) -> Tensor:
    """The log probability of each candidate's reply (C,), its end included: natural log, 64 bits."""
    found = torch.full((len(candidates.every),), -torch.inf, dtype=torch.float64)
    begin = 0
    for part in logits:
        normal = part.double().log_softmax(dim=-1)
        for i, (one, place) in enumerate(zip(candidates.every, candidates.places, strict=True)):
            if begin <= place < begin + len(part):
                found[i] = _log_likelihood(normal[place - begin], one.tokens, candidates.ends[one.kind])
        begin += len(part)
    return found


def _log_likelihood(log_probs: Tensor, tokens: tuple[int, ...], ends: Tensor) -> Tensor:
    """Log probabilities (L + 1, V) along a row -> that of the tokens and one of the ends after them."""
    along = sum((log_probs[i, token] for i, token in enumerate(tokens)), torch.zeros((), dtype=torch.float64))
    return (along + log_probs[len(tokens)].index_select(0, ends.to(log_probs.device)).logsumexp(dim=0)).cpu()
