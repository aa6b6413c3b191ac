"""Two models side by side: the answers of another audit to the same questions about the same scenes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.auditing.judging.findings import Finding
from trex.auditing.judging.situations import ExaminedScene
from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.records import EXAMINED, REMEDY, Examined, Settings, read_settings
from trex.auditing.work import MANIFEST, SWEPT
from trex.families.family import Family
from trex.foundation.errors import InputError, RunError
from trex.inference.statistics.paired import Paired, paired
from trex.runs.checked_lines import read_checked
from trex.scenes.graph import Facts

SAME = (
    "world",
    "scenes",
    "held_out",
    "questions",
    "look",
    "sure",
    "seed",
    "families",
)  # settings that make scenes comparable
Row = tuple[Facts, Examined]


@dataclass(frozen=True)
class Other:
    """Another model, and its answers about the held-out scenes."""

    model: str
    examined: tuple[Examined, ...]


@dataclass(frozen=True)
class Beside:
    """Held-out scenes by which model, this one first, makes a confident mistake in them.

    `families` says so of each confirmed family, by its number: of the scenes in which its conditions hold, those in
    which a model fails as the family says.
    """

    model: str
    mistakes: Paired
    families: Mapping[int, Paired]

    def corrected(self, number: int) -> float:
        """The p-value of a family, corrected for the tests of all families (Bonferroni)."""
        return min(1.0, self.families[number].p_value * len(self.families))


def read_other(folder: Path, settings: Settings) -> Other:
    """The other audit, whose folder is only read; InputError unless its scenes and questions are the same.

    RunError if it is not finished or damaged.
    """
    known = read_settings(folder / MANIFEST, inside=folder)
    if known is None:
        raise InputError(f"--beside {folder} holds no audit; give a folder that trex audit has written")
    if differing := [name for name in SAME if getattr(known, name) != getattr(settings, name)]:
        raise InputError(
            f"--beside {folder} is of other scenes or questions ({', '.join(differing)} differ); "
            "audit that model again with the same options"
        )
    path, total = folder / SWEPT, settings.scenes + settings.held_out
    found = read_checked(path)
    if found.sound < len(found.lines):
        raise RunError(f"{path}, line {found.sound + 1}, was changed; {REMEDY}")
    if len(found.lines) < total:
        raise RunError(f"--beside {folder} is not finished; give its own command again first")
    return Other(
        known.model,
        tuple(
            EXAMINED.parse(line.decode(errors="replace"), f"{path}, line {number}", REMEDY)
            for number, line in enumerate(found.lines[:total], start=1)
            if number > settings.scenes
        ),
    )


def beside(held_out: Sequence[Row], other: Other, confirmed: Sequence[Finding], asker: Asker) -> Beside:
    """How two models compare in the held-out scenes; `asker` is the first model's, whose questions are the same."""
    rows = [(facts, mine, theirs) for (facts, mine), theirs in zip(held_out, other.examined, strict=True)]
    mistakes = paired(
        [bool(mine.mistakes) for _, mine, _ in rows], [bool(theirs.mistakes) for *_, theirs in rows]
    )
    both = [
        (ExaminedScene(facts, mine, asker), ExaminedScene(facts, theirs, asker))
        for facts, mine, theirs in rows
    ]
    return Beside(other.model, mistakes, {one.number: _family(one.family, both) for one in confirmed})


def _family(family: Family, rows: Sequence[tuple[ExaminedScene, ExaminedScene]]) -> Paired:
    first, second = list[bool](), list[bool]()
    for mine, theirs in rows:
        failed, n, _ = mine.failing(family)
        if n:
            first.append(bool(failed))
            second.append(bool(theirs.failing(family)[0]))
    return paired(first, second)
