"""The files of a proof: official pictures, and pairs of searches before and after; both belong to one correction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from trex.repair.folder import DONE
from trex.repair.records import Record, file_sha256, read_record
from trex.repair.scenes.loaded import SceneFolder
from trex.repair.scenes.results import SceneCompared

PROOF, RUNS = "proof", "runs"
OFFICIAL = "official-"  # official-DIGEST.json, one for each data set
SEARCH = "search-"  # search-QUERY-SEED.json
TEST = "official"
MAX_LOST = 0.01  # of the answers about official pictures

Verdict = Literal["nothing to mend", "mended", "fewer", "displaced", "not mended"]


class OfficialProof(Record):
    """Answers about the pictures of a folder in CLEVR's layout: the chosen model of each seed against the one before.

    `corrected`: sha256 of the correction's record, without which the figures are another model's.
    """

    corrected: str
    dataset: str
    pictures: int
    rows: list[SceneCompared]
    notes: tuple[str, ...] = ()  # on questions and pictures that were not read whole

    @property
    def lost(self) -> list[float]:
        """The share of answers that each seed's model loses."""
        return [-one.difference for one in self.rows]

    @property
    def holds(self) -> bool:
        """Whether every seed loses at most MAX_LOST."""
        return bool(self.rows) and max(self.lost) <= MAX_LOST


class Searched(Record):
    """What one search found: distinct scenes that survive fresh noise, families, and pictures at the deciding look."""

    run: str
    ending: str
    found: int
    families: int
    renders: int
    rate: str


class SearchProof(Record):
    """The same query, prior and seed of the search, asked of the model before and of a seed's chosen model.

    Of `prior` scenes that both have scored, how many are in the level set of each. `kept`: of the scenes found before,
    how many are still in the level set; `new`: of those found after, how many were outside of it before.
    """

    corrected: str
    query: str
    seed: int
    look: str
    before: Searched
    after: Searched
    prior: int
    prior_before: int
    prior_after: int
    kept: int
    new: int

    @property
    def verdict(self) -> Verdict:
        """What the two searches say together.

        "not mended" if half of the scenes found before or more still are failures, whatever the search after found:
        two searches for a rare target may differ by luck. "displaced" if most of what is found now was none before.
        """
        if not self.before.found:
            return "displaced" if self.after.found else "nothing to mend"
        if 2 * self.kept >= self.before.found:
            return "not mended"
        if not self.after.found:
            return "mended"
        if 2 * self.new > self.after.found:
            return "displaced"
        return "fewer" if self.after.found < self.before.found else "not mended"

    @property
    def holds(self) -> bool:
        """Whether fewer prior scenes and fewer found ones are in the level set, and the failures are no others.

        A level set that is empty before and after speaks neither for nor against; one that was not compared on any
        prior scene does not hold.
        """
        fewer = self.prior_after < self.prior_before or not (self.prior_before or self.prior_after)
        return self.prior > 0 and fewer and self.verdict in ("mended", "fewer", "nothing to mend")


R = TypeVar("R", OfficialProof, SearchProof)


@dataclass(frozen=True)
class Proof:
    """All that belongs to the present correction."""

    officials: tuple[OfficialProof, ...]
    searches: tuple[SearchProof, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing of it speaks against the claim that the model is mended; True if nothing was measured."""
        return all(one.holds for one in self.officials) and all(one.holds for one in self.searches)


def correction_key(folder: SceneFolder) -> str:
    """sha256 of the finished correction's record; RunError if it is not finished."""
    return file_sha256(folder.require("correct") / DONE)


def read_proof(folder: SceneFolder) -> Proof:
    """What was measured of the present correction; files of an earlier one are passed over."""
    if not folder.is_done("correct"):
        return Proof((), ())
    key, place = correction_key(folder), folder.path / PROOF
    officials = _current(OfficialProof, sorted(place.glob(f"{OFFICIAL}*.json")), key)
    searches = _current(SearchProof, sorted(place.glob(f"{SEARCH}*.json")), key)
    return Proof(tuple(officials), tuple(searches))


def _current(model: type[R], paths: list[Path], key: str) -> Iterator[R]:
    for path in paths:
        if path.is_file() and (found := read_record(model, path)).corrected == key:
            yield found
