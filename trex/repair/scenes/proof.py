"""What `trex repair prove` adds to a correction on scenes: official pictures, and a new search for the same failures.

The files of a proof belong to one correction. The searches themselves are runs like any other, and are carried out
above this subpackage (`trex.commands.results.proof`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import JsonValue

from trex.foundation.words import counted, signed_points
from trex.repair.files import Record, file_sha256, read_record
from trex.repair.folder import DONE, RepairFolder
from trex.repair.results import Compared
from trex.repair.settings import RepairQuery

PROOF, RUNS = "proof", "runs"
OFFICIAL = "official-"  # official-DIGEST.json, one for each data set
SEARCH = "search-"  # search-QUERY-SEED.json
TEST = "official"
MAX_LOST = 0.01  # of the answers about official pictures

VERDICTS = {
    "nothing to repair": "the search before found nothing, so that nothing can be repaired",
    "repaired": "nothing is found any more, and most of what was found no longer fails; a search can miss what is rare",
    "fewer": "fewer are found, most of them failures before, and most of what was found before no longer fails",
    "displaced": "displaced: most of what is found now was no failure before",
    "not repaired": "not repaired: most of what was found before still fails, or as many are found as before",
}
COMMAND = "trex repair prove"
AGAIN = f"delete it and give its {COMMAND} command again"


class OfficialProof(Record):
    """Answers about the pictures of a folder in CLEVR's layout: the chosen model of each seed against the one before.

    `corrected`: sha256 of the correction's record, without which the figures are another model's.
    """

    corrected: str
    dataset: str
    pictures: int
    rows: list[Compared]
    notes: tuple[str, ...] = ()  # on questions and pictures that were not read whole

    @property
    def lost(self) -> list[float]:
        """The share of answers that each seed's model loses."""
        return [-row.difference for row in self.rows]

    @property
    def holds(self) -> bool:
        """Whether every seed loses at most MAX_LOST."""
        return bool(self.rows) and max(self.lost) <= MAX_LOST

    @property
    def words(self) -> str:
        """Right answers about official pictures before and after."""
        if not self.rows:
            return "Official pictures: no seed chose a model."
        first = self.rows[0]
        after = ", ".join(f"{100 * row.right / row.n:.1f}" for row in self.rows)
        points = ", ".join(signed_points(row.difference) for row in self.rows)
        return (
            f"Official pictures ({self.dataset}, {counted(self.pictures, 'picture')}, {counted(first.n, 'question')}): "
            f"{100 * first.other_right / first.n:.1f}% right before, {after}% after ({points} points)."
            + "".join(f" {note}." for note in self.notes)
        )


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
    def verdict(self) -> str:
        """What the two searches say together.

        "not repaired" if half of the scenes found before or more still are failures, whatever the search after found:
        two searches for a rare target may differ by luck. "displaced" if most of what is found now was none before.
        """
        if not self.before.found:
            return "displaced" if self.after.found else "nothing to repair"
        if 2 * self.kept >= self.before.found:
            return "not repaired"
        if not self.after.found:
            return "repaired"
        if 2 * self.new > self.after.found:
            return "displaced"
        return "fewer" if self.after.found < self.before.found else "not repaired"

    @property
    def holds(self) -> bool:
        """Whether fewer prior scenes and fewer found ones are in the level set, and the failures are no others.

        A level set that is empty before and after speaks neither for nor against; one that was not compared on any
        prior scene does not hold.
        """
        fewer = self.prior_after < self.prior_before or not (self.prior_before or self.prior_after)
        return self.prior > 0 and fewer and self.verdict in ("repaired", "fewer", "nothing to repair")

    @property
    def words(self) -> str:
        before, after = self.before, self.after
        return (
            f"Search {self.query}, seed {self.seed}, preset {self.look}: in the level set {self.prior_before} of "
            f"{counted(self.prior, 'prior scene')} before, {self.prior_after} after; found {before.found} in "
            f"{counted(before.renders, 'render')}, then {after.found} in {after.renders:,}. Of those found before "
            f"{self.kept} are still failures; of those found after {self.new} were none before: "
            f"{VERDICTS[self.verdict]}."
        )


R = TypeVar("R", OfficialProof, SearchProof)


@dataclass(frozen=True)
class Proof:
    """All that belongs to the present correction."""

    officials: tuple[OfficialProof, ...]
    searches: tuple[SearchProof, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing of it speaks against the claim that the model is repaired; True if nothing was measured."""
        return all(each.holds for each in self.officials) and all(each.holds for each in self.searches)

    @property
    def sentences(self) -> list[str]:
        """What was measured beyond the correction's own tests, and what was not."""
        missing = [] if self.officials else ["official pictures (--dataset)"]
        missing += [] if self.searches else ["a new search (--query)"]
        texts = [f"Not measured: {' and '.join(missing)}; {COMMAND} does that."] if missing else []
        return [*(each.words for each in self.officials), *(each.words for each in self.searches), *texts]

    @property
    def document(self) -> dict[str, JsonValue]:
        """All of it as JSON has it."""
        return {
            "official": [each.model_dump(mode="json") for each in self.officials],
            "searches": [{**each.model_dump(mode="json"), "verdict": each.verdict} for each in self.searches],
        }


def correction_key(folder: RepairFolder[RepairQuery]) -> str:
    """sha256 of the finished correction's record; RunError if it is not finished."""
    return file_sha256(folder.require("correct") / DONE)


def read_proof(folder: RepairFolder[RepairQuery]) -> Proof:
    """What was measured of the present correction; files of an earlier one are passed over."""
    if not folder.is_done("correct"):
        return Proof((), ())
    key, place = correction_key(folder), folder.path / PROOF
    officials = _current(OfficialProof, sorted(place.glob(f"{OFFICIAL}*.json")), key)
    searches = _current(SearchProof, sorted(place.glob(f"{SEARCH}*.json")), key)
    return Proof(tuple(officials), tuple(searches))


def _current(model: type[R], paths: list[Path], key: str) -> Iterator[R]:
    for path in paths:
        if path.is_file() and (found := read_record(model, path, AGAIN)).corrected == key:
            yield found
