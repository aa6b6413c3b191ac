"""A baseline's folder: rows and figures, the pictures to show, and the page, which can be made anew from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from trex.baseline.baseline import Baseline
from trex.baseline.count import SourceResult
from trex.baseline.json_file import AGAIN, FILE, FILE_LIMIT, read_document, to_json
from trex.baseline.page import PAGE, page_html
from trex.datasets.examples import Problem
from trex.foundation.codec import Codec
from trex.foundation.errors import InputError
from trex.foundation.files import make_folder, write_atomic
from trex.pages.thumbnails import Thumbnail, is_data_url

PICTURES = "baseline-pictures.json"
MARKS_FOLDER = "marks"  # the votes of the people who mark its mistakes
FILES = (FILE, PAGE, PICTURES, MARKS_FOLDER)


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


CODEC = Codec(StoredPictures, InputError, FILE_LIMIT)


@dataclass(frozen=True)
class StoredBaseline:
    """Everything in a baseline's folder."""

    folder: Path
    results: tuple[SourceResult, ...]
    problems: tuple[Problem, ...]
    all_pictures: bool

    @property
    def baselines(self) -> tuple[Baseline, ...]:
        """The baseline of each query."""
        return tuple(one for result in self.results for one in result.baselines)

    def with_baselines(self, baselines: Sequence[Baseline]) -> StoredBaseline:
        """The same with other rows, as many and in the same order."""
        rest = iter(baselines)
        results = (replace(one, baselines=tuple(next(rest) for _ in one.baselines)) for one in self.results)
        return replace(self, results=tuple(results))

    def write(self) -> None:
        """Write all files, the rows last: with them the folder is complete."""
        sources = tuple(
            SourcePictures(one.source, len(one.baselines), one.thumbnails) for one in self.results
        )
        make_folder(self.folder)
        pictures = StoredPictures(1, self.all_pictures, sources)
        write_atomic(self.folder / PICTURES, CODEC.text(pictures).encode())
        write_atomic(self.folder / PAGE, page_html(self.results, self.all_pictures, self.problems).encode())
        write_atomic(self.folder / FILE, to_json(self.baselines, self.problems).encode())


def read_stored(folder: Path) -> StoredBaseline:
    """The baseline in a folder; InputError if there is none, it is damaged, or its pictures are missing."""
    document = read_document(folder / FILE)
    found = CODEC.read(folder / PICTURES, AGAIN, _check_urls)
    if found is None:
        raise InputError(f"{folder} holds no {PICTURES}; {AGAIN}")
    if sum(one.baselines for one in found.sources) != len(document.baselines):
        raise InputError(f"{folder / PICTURES} is of other queries than {folder / FILE}; {AGAIN}")
    rest = iter(document.baselines)
    results = tuple(
        SourceResult(one.source, tuple(next(rest) for _ in range(one.baselines)), one.pictures, ())
        for one in found.sources
    )
    return StoredBaseline(folder, results, document.problems, found.all_pictures)


def _check_urls(found: StoredPictures) -> None:
    for one in found.sources:
        for picture in one.pictures:
            if not is_data_url(picture.url):
                raise ValueError(f"picture {picture.name!r} is no data URL of a picture")
