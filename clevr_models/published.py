"""Published values of the released CLEVR models: the accuracies that the accuracy check compares with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

RN_README = "its author's README (github.com/mesnico/RelationNetworks-CLEVR), from pixels, test set"
IEP_TABLE = "Johnson et al. 2017 (arXiv:1705.03633), table 1, test set"


class Published(NamedTuple):
    """A published share of right answers on all of CLEVR's questions, its source, and remarks."""

    accuracy: float
    source: str
    note: str = ""


PUBLISHED: Mapping[str, Published] = {
    "relation-network:original": Published(0.936, RN_README),
    "relation-network:ir": Published(
        0.936, RN_README, "published for the original variant; none is known for this one"
    ),
    "iep:9k": Published(0.886, IEP_TABLE),
    "iep:18k": Published(
        0.954,
        IEP_TABLE,
        "an independent run of the released weights on torch 1.8 was right in 88.65% of val",
    ),
    "iep:700k": Published(
        0.969,
        IEP_TABLE,
        "an independent run of the released weights on torch 1.8 was right in 90.44% of val",
    ),
    "iep:lstm": Published(0.468, IEP_TABLE),
    "iep:cnn_lstm": Published(0.523, IEP_TABLE),
    "iep:cnn_lstm_sa": Published(0.685, IEP_TABLE),
    "iep:cnn_lstm_sa_mlp": Published(0.732, IEP_TABLE),
}
