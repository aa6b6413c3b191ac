"""The draws of a run as a pandas table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from trex.foundation.json_fields import Json
from trex.runs.manifest import Manifest
from trex.runs.record import Record

if TYPE_CHECKING:
    import pandas

COLUMNS = (
    "phase", "chain", "index", "is_accepted", "is_rendered", "is_hit", "confidence", "answer", "log_prior",
    "log_weight", "log_accept_ratio", "picture",
)  # fmt: skip


def draws_frame(manifest: Manifest, records: Sequence[Record]) -> pandas.DataFrame:
    """A row for each prior draw and each proposal of a chain, in the order of the search.

    Columns: COLUMNS, then "p(ANSWER)" for each of the model's K answers. A proposal that was not rendered has NaN
    probabilities and confidence, and the answer "". `log_prior` and `log_weight` are natural logarithms.
    """
    import pandas

    names = [*COLUMNS, *(f"p({label})" for label in manifest.facts.labels)]
    return pandas.DataFrame(list(_rows(manifest, records)), columns=names)


def _rows(manifest: Manifest, records: Sequence[Record]) -> Iterator[Json]:
    target, labels = manifest.target, manifest.facts.labels
    for record in records:
        row: Json = {
            "phase": record.phase,
            "chain": record.chain,
            "index": record.index,
            "is_accepted": record.is_accepted,
            "is_rendered": record.is_rendered,
            "is_hit": False,
            "confidence": float("nan"),
            "answer": "",
            "log_prior": record.log_prior,
            "log_weight": record.log_weight,
            "log_accept_ratio": record.log_accept_ratio,
            "picture": record.picture,
        }
        if record.is_rendered:
            log_probs = np.array(record.log_probs)
            row["is_hit"] = target.is_hit(log_probs)
            row["confidence"] = target.confidence(log_probs)
            row["answer"] = labels[int(log_probs.argmax())]
            row |= {f"p({label})": p for label, p in zip(labels, record.probs, strict=True)}
        yield row
