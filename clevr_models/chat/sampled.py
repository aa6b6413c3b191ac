"""Probabilities of answers from counts of samples, smoothed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.chat.spellings import spelled
from trex.clevr_models.chat.token_mass import UNPARSED
from trex.clevr_models.interface.answers import ANSWERS

LABELS = (*ANSWERS, UNPARSED)


def answer_shares(replies: Sequence[str]) -> NDArray[np.float64]:
    """Probabilities (29,) in the order of LABELS from n replies: (count + 1/29) / (n + 1).

    The posterior mean under Perks' prior, a Dirichlet distribution whose 29 parameters add up to 1 (Perks 1947, J.
    Inst. Actuaries 73): one sample's weight in all, so that n equal samples never count as certainty.
    """
    counts = Counter(spelled(reply) or UNPARSED for reply in replies)
    found = np.array([counts[label] for label in LABELS], np.float64)
    shares: NDArray[np.float64] = (found + 1 / len(LABELS)) / (len(replies) + 1)
    return shares
