"""Losses of classifiers: for the true class, or (appendix H) for a tie between it and the next one."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def nll_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean negative log likelihood of labels (B,) given logits (B, K)."""
    return functional.cross_entropy(logits, labels)


def ambiguous_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean KL(t || f), with t = 1/2 on label y and on y + 1; the first class follows the last (appendix H).

    0 for exact ties; a classifier trained with it is right about half of the time.
    """
    log_probs = logits.log_softmax(dim=1)
    following = (labels + 1) % logits.shape[1]
    rows = torch.arange(len(labels), device=labels.device)
    surprise = -0.5 * (log_probs[rows, labels] + log_probs[rows, following])
    return surprise.mean() - torch.log(torch.tensor(2.0, device=logits.device))
