"""`baseline.json`: stores the rows; reading it counts every figure from them again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from trex.baseline.baseline import Baseline
from trex.datasets.examples import Problem
from trex.foundation.codec import Codec
from trex.foundation.errors import InputError
from trex.foundation.files import MIB
from trex.foundation.json_fields import Json
from trex.inference.statistics.proportion import Proportion

FILE = "baseline.json"
AGAIN = "make it again: trex baseline QUERY"
FILE_LIMIT = 1024 * MIB  # a picture takes about 300 bytes
RATES = ("hits", "mistakes", "mistakes_well_labelled", "hits_inside", "mistakes_inside", "accuracy")


@dataclass(frozen=True)
class Baselines:
    """What is read of the file: the figures beside the rows are not."""

    format: Literal[1]
    baselines: tuple[Baseline, ...]
    problems: tuple[Problem, ...] = ()


CODEC = Codec(Baselines, InputError, FILE_LIMIT)


def to_json(baselines: Sequence[Baseline], problems: Sequence[Problem]) -> str:
    """The file's text: a baseline for each query, with its figures, and the files that were left out."""
    rows = [_figures(one) | {"seen": [asdict(row) for row in one.seen]} for one in baselines]
    data = {"format": 1, **summary_json(baselines, problems), "baselines": rows}
    return json.dumps(data, allow_nan=False) + "\n"


def summary_json(baselines: Sequence[Baseline], problems: Sequence[Problem]) -> Json:
    """The figures without the rows."""
    return {
        "baselines": [_figures(one) for one in baselines],
        "problems": [problem._asdict() for problem in problems],
    }


def _figures(one: Baseline) -> Json:
    words = asdict(replace(one, seen=()))
    beside = words.pop("beside")
    del words["seen"]
    rates = {name: _rate(getattr(one, name)) for name in RATES}
    figures = {**rates, "marks": asdict(one.marks), "confusion": one.confusion}
    return {**words, "examined": one.examined, **figures, "beside": beside}


def _rate(rate: Proportion) -> Json:
    return {"count": rate.count, "of": rate.of, "rate": rate.value, "interval_95": list(rate.interval)}


def read_baselines(path: Path) -> tuple[Baseline, ...]:
    """The baselines in a `baseline.json` (or in the folder that holds one); InputError if it is damaged."""
    return read_document(path / FILE if path.is_dir() else path).baselines


def read_document(file: Path) -> Baselines:
    """All that is read of a `baseline.json`; InputError if it is missing or damaged."""
    found = CODEC.read(file, AGAIN)
    if found is None:
        raise InputError(f"there is no baseline {file}; make one: trex baseline QUERY --rendered 1000")
    return found
