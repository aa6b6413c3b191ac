"""Whether a model that replies in words gave answers at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trex.clevr_models.interface.answers import MOST, UNPARSED
from trex.foundation.percent import percent
from trex.runs.manifest import Manifest
from trex.runs.record import PRIOR, Record


def no_answer_remarks(manifest: Manifest, records: Sequence[Record]) -> tuple[str, ...]:
    """One sentence if more than half of the probability on random scenes is no answer; else empty."""
    labels = manifest.facts.labels
    rows = [record.log_probs for record in records if record.phase == PRIOR and record.log_probs]
    if UNPARSED not in labels or not rows:
        return ()
    share = float(np.exp([row[labels.index(UNPARSED)] for row in rows]).mean())
    if share <= MOST:
        return ()
    return (
        f"The model seldom answers: on random scenes {percent(share)} of the probability is {UNPARSED}, so what is "
        "said here of its answers rests on the rest. Let it reply with one word: change [model] prompt, and switch off "
        "thinking.",
    )
