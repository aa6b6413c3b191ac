"""`baseline.json`: stores the rows; reading it counts every figure from them again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from trex.baseline.baseline import Baseline, ComparedRun, ScoredExample
from trex.datasets.examples import Problem
from trex.foundation.errors import InputError
from trex.foundation.files import MIB, read_text
from trex.foundation.json_fields import Json, field, finite, listed, mapping, short, text, whole
from trex.foundation.parse import parse_json
from trex.inference.statistics.proportion import Proportion

FILE = "baseline.json"
FORMAT = 1
FILE_LIMIT = 1024 * MIB  # a picture takes about 300 bytes
WORDS = ("query", "question", "target", "model", "model_hash", "world", "source")


def to_json(baselines: Sequence[Baseline], problems: Sequence[Problem]) -> str:
    """The file's text: a baseline for each query, with its figures, and the files that were left out."""
    data = {
        "format": FORMAT,
        "baselines": [_summary(one) | {"seen": [asdict(row) for row in one.seen]} for one in baselines],
        "problems": [problem._asdict() for problem in problems],
    }
    return json.dumps(data, allow_nan=False) + "\n"


def summary_json(baselines: Sequence[Baseline], problems: Sequence[Problem]) -> Json:
    """The figures without the rows."""
    return {
        "baselines": [_summary(one) for one in baselines],
        "problems": [problem._asdict() for problem in problems],
    }


def _summary(one: Baseline) -> Json:
    rates = ("hits", "mistakes", "hits_inside", "mistakes_inside", "accuracy")
    return {
        **{name: getattr(one, name) for name in WORDS},
        "answers": list(one.answers),
        "examined": one.examined,
        **{name: _rate(getattr(one, name)) for name in rates},
        "confusion": one.confusion,
        "beside": [asdict(run) for run in one.beside],
    }


def _rate(rate: Proportion) -> Json:
    return {"count": rate.count, "of": rate.of, "rate": rate.value, "interval_95": list(rate.interval)}


def read_baselines(path: Path) -> tuple[Baseline, ...]:
    """The baselines in a `baseline.json` (or in the folder that holds one); InputError if it is damaged."""
    file = path / FILE if path.is_dir() else path
    try:
        data = mapping(parse_json(read_text(file, limit=FILE_LIMIT), file.name), file.name)
    except InputError as error:
        cause = error.__cause__
        if isinstance(cause, OSError):
            raise InputError(
                f"cannot read {file}: {cause.strerror}; make one: trex baseline QUERY"
            ) from error
        raise InputError(f"{file} is no baseline: {error}; make it again: trex baseline QUERY") from error
    if data.get("format") != FORMAT:
        raise InputError(
            f"{file} is of format {short(data.get('format'))}, this version reads {FORMAT}; make it again"
        )
    items = listed(field(data, "baselines", file.name), f"{file.name}, baselines")
    return tuple(_baseline(item, f"{file.name}, baseline {i}") for i, item in enumerate(items))


def _baseline(data: object, where: str) -> Baseline:
    record = mapping(data, where)
    words = {name: text(field(record, name, where), f"{where}, {name}") for name in WORDS}
    answers, seen, beside = (
        listed(field(record, key, where), where) for key in ("answers", "seen", "beside")
    )
    return Baseline(
        **words,
        answers=tuple(text(answer, f"{where}, answers") for answer in answers),
        seen=tuple(_seen(row, f"{where}, picture {i}") for i, row in enumerate(seen)),
        beside=tuple(_beside(row, f"{where}, run {i}") for i, row in enumerate(beside)),
    )


def _seen(data: object, where: str) -> ScoredExample:
    record = mapping(data, where)
    truth, in_world = field(record, "truth", where), field(record, "in_world", where)
    return ScoredExample(
        name=text(field(record, "name", where), f"{where}, name"),
        split=text(field(record, "split", where), f"{where}, split"),
        answer=text(field(record, "answer", where), f"{where}, answer"),
        probability=finite(field(record, "probability", where), f"{where}, probability"),
        confidence=finite(field(record, "confidence", where), f"{where}, confidence"),
        is_hit=_flag(record, "is_hit", where),
        truth=None if truth is None else text(truth, f"{where}, truth"),
        is_mistake=_flag(record, "is_mistake", where),
        in_world=None if in_world is None else _flag(record, "in_world", where),
    )


def _beside(data: object, where: str) -> ComparedRun:
    record = mapping(data, where)
    counts = {name: whole(field(record, name, where), f"{where}, {name}") for name in _COUNTS}
    run, ending = (text(field(record, name, where), f"{where}, {name}") for name in ("run", "ending"))
    return ComparedRun(run, ending, **counts)


_COUNTS = tuple(item.name for item in fields(ComparedRun) if item.name not in ("run", "ending"))


def _flag(record: Mapping[str, object], name: str, where: str) -> bool:
    value = field(record, name, where)
    if not isinstance(value, bool):
        raise InputError(f"{where}, {name} is {short(value)}; expected true or false")
    return value
