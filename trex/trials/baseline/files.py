"""A baseline's folder: rows, pictures to show and the page, which can be made anew from the others.

`baseline.json` stores the rows; reading it counts every figure from them again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from trex.datasets.examples import Problem
from trex.foundation.codec import Codec
from trex.foundation.errors import InputError
from trex.foundation.files import MIB, make_folder, write_atomic
from trex.foundation.json_fields import Json
from trex.inference.statistics.proportion import Proportion
from trex.pages.thumbnails import Thumbnail, is_data_url
from trex.trials.baseline.baseline import Baseline
from trex.trials.baseline.page import PAGE, page_html
from trex.trials.baseline.score import SourceResult

FILE, PICTURES = "baseline.json", "baseline-pictures.json"
MARKS_FOLDER = "marks"  # the votes of the people who mark its mistakes
FILES = (FILE, PAGE, PICTURES, MARKS_FOLDER)
AGAIN = "repeat the trex baseline command that wrote it"
FILE_LIMIT = 1024 * MIB  # a picture takes about 300 bytes
RATES = ("hits", "mistakes", "mistakes_well_labelled", "hits_inside", "mistakes_inside", "accuracy")


@dataclass(frozen=True)
class Baselines:
    """What is read of `baseline.json`: the figures beside the rows are not."""

    format: Literal[1]
    baselines: tuple[Baseline, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class SourcePictures:
    """The pictures of a source, which that many baselines in turn are of."""

    source: str
    baselines: int
    pictures: tuple[Thumbnail, ...]


@dataclass(frozen=True)
class StoredPictures:
    """What the page needs besides the rows."""

    format: Literal[1]
    all_pictures: bool
    sources: tuple[SourcePictures, ...]


ROWS, SHOWN = Codec(Baselines, InputError, FILE_LIMIT), Codec(StoredPictures, InputError, FILE_LIMIT)


@dataclass(frozen=True)
class StoredBaseline:
    """Everything in a baseline's folder; `problems` are the files that were left out."""

    folder: Path
    results: tuple[SourceResult, ...]
    problems: tuple[Problem, ...]
    all_pictures: bool

    @property
    def baselines(self) -> tuple[Baseline, ...]:
        """The baseline of each query."""
        return tuple(baseline for result in self.results for baseline in result.baselines)

    def with_baselines(self, baselines: Sequence[Baseline]) -> StoredBaseline:
        """The same with other rows, as many and in the same order."""
        left = iter(baselines)
        results = (
            replace(result, baselines=tuple(next(left) for _ in result.baselines)) for result in self.results
        )
        return replace(self, results=tuple(results))

    def write(self) -> None:
        """Write all files, the rows last: with them the folder is complete."""
        sources = tuple(
            SourcePictures(result.source, len(result.baselines), result.thumbnails) for result in self.results
        )
        make_folder(self.folder)
        pictures = StoredPictures(1, self.all_pictures, sources)
        write_atomic(self.folder / PICTURES, SHOWN.text(pictures).encode())
        write_atomic(self.folder / PAGE, page_html(self.results, self.all_pictures, self.problems).encode())
        write_atomic(self.folder / FILE, to_json(self.baselines, self.problems).encode())


def to_json(baselines: Sequence[Baseline], problems: Sequence[Problem]) -> str:
    """The text of `baseline.json`: a baseline for each query, with its figures, and the files that were left out."""
    rows = [_figures(baseline) | {"seen": [asdict(row) for row in baseline.seen]} for baseline in baselines]
    data = {"format": 1, **summary_json(baselines, problems), "baselines": rows}
    return json.dumps(data, allow_nan=False) + "\n"


def summary_json(baselines: Sequence[Baseline], problems: Sequence[Problem]) -> Json:
    """The figures without the rows."""
    return {
        "baselines": [_figures(baseline) for baseline in baselines],
        "problems": [problem._asdict() for problem in problems],
    }


def _figures(baseline: Baseline) -> Json:
    words = asdict(replace(baseline, seen=()))
    beside = words.pop("beside")
    del words["seen"]
    rates = {name: _rate(getattr(baseline, name)) for name in RATES}
    figures = {**rates, "marks": asdict(baseline.marks), "confusion": baseline.confusion}
    return {**words, "examined": baseline.examined, **figures, "beside": beside}


def _rate(rate: Proportion) -> Json:
    return {"count": rate.count, "of": rate.of, "rate": rate.value, "interval_95": list(rate.interval)}


def read_baselines(path: Path) -> tuple[Baseline, ...]:
    """The baselines in a `baseline.json` (or in the folder that holds one); InputError if it is damaged."""
    return _read(path / FILE if path.is_dir() else path).baselines


def read_stored(folder: Path) -> StoredBaseline:
    """The baseline in a folder; InputError if there is none, it is damaged, or its pictures are missing."""
    rows = _read(folder / FILE)
    found = SHOWN.read(folder / PICTURES, AGAIN, _check_urls)
    if found is None:
        raise InputError(f"{folder} holds no {PICTURES}; {AGAIN}")
    if sum(source.baselines for source in found.sources) != len(rows.baselines):
        raise InputError(f"{folder / PICTURES} is of other queries than {folder / FILE}; {AGAIN}")
    left = iter(rows.baselines)
    results = tuple(
        SourceResult(source.source, tuple(next(left) for _ in range(source.baselines)), source.pictures, ())
        for source in found.sources
    )
    return StoredBaseline(folder, results, rows.problems, found.all_pictures)


def _read(file: Path) -> Baselines:
    found = ROWS.read(file, AGAIN)
    if found is None:
        raise InputError(f"there is no baseline {file}; make one: trex baseline QUERY --rendered 1000")
    return found


def _check_urls(found: StoredPictures) -> None:
    for source in found.sources:
        for picture in source.pictures:
            if not is_data_url(picture.url):
                raise ValueError(f"picture {picture.name!r} is no data URL of a picture")
