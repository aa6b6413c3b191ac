"""What classifiers are trained to: the true class, or (appendix H) to be torn between it and the next one."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def nll_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean negative log likelihood of labels (B,) given logits (B, K)."""
    return functional.cross_entropy(logits, labels)


def ambiguous_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean KL(t || f), t being 1/2 on label y and 1/2 on y + 1, the last class followed by the first (appendix H).

    0 where the answers are exactly torn; a classifier trained so is right about half of the time.
    """
    log_probs = logits.log_softmax(dim=1)
    following = (labels + 1) % logits.shape[1]
    rows = torch.arange(len(labels), device=labels.device)
    surprise = -0.5 * (log_probs[rows, labels] + log_probs[rows, following])
    return surprise.mean() - torch.log(torch.tensor(2.0, device=logits.device))
