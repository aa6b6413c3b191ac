"""The draws of a run as a pandas table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trex.foundation.extensions import import_extra
from trex.foundation.json_fields import Json
from trex.inference.targets import GaussianTarget
from trex.runs.manifest import Manifest
from trex.runs.record import BANK, CALIBRATION, FRESH, LIKELY, NOISE, Record

if TYPE_CHECKING:
    import pandas

STEP = ("phase", "chain", "index", "is_accepted", "is_rendered")
ANSWER = ("is_hit", "confidence", "answer")
REPEATED = (
    BANK,
    LIKELY,
    CALIBRATION,
    NOISE,
    FRESH,
)  # phases that score a scene again, at another look or under other noise, or in the sample
WEIGHT = ("log_prior", "log_weight", "log_accept_ratio", "picture")


def draws_frame(manifest: Manifest, records: Sequence[Record]) -> pandas.DataFrame:
    """A row for each prior draw and each proposal of a chain, in the order of the search.

    Scenes of a bank at its cheap preset, its likeliest ones before the sample, calibration draws and hits under fresh
    noise draws have no row: they score prior draws and proposals once more, and hits would count two or three times.
    `Run.records` has them.
    Columns: STEP, ANSWER and WEIGHT, then "p(ANSWER)" for each of the model's K answers. A proposal that was not
    rendered has NaN probabilities and confidence, and the answer "". `log_prior` and `log_weight` are natural
    logarithms. InputError without the extra `arviz`.
    """
    library = import_extra("pandas", "arviz", "a table of the draws needs pandas")

    labels, target = manifest.facts.labels, manifest.target
    names = [*STEP, *ANSWER, *WEIGHT, *(f"p({label})" for label in labels)]
    rows = [_row(labels, target, record) for record in records if record.phase not in REPEATED]
    table: pandas.DataFrame = library.DataFrame(rows, columns=names)
    return table


def _row(labels: Sequence[str], target: GaussianTarget, record: Record) -> Json:
    row: Json = {name: getattr(record, name) for name in (*STEP, *WEIGHT)}
    if not record.is_rendered:
        return row | dict(zip(ANSWER, (False, float("nan"), ""), strict=True))
    log_probs = np.array(record.log_probs)
    answer = (target.is_hit(log_probs), target.confidence(log_probs), labels[int(log_probs.argmax())])
    row |= dict(zip(ANSWER, answer, strict=True))
    return row | {f"p({label})": p for label, p in zip(labels, record.probs, strict=True)}
