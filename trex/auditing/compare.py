"""Confirmed families elsewhere: in fresh scenes, which made and judged no rule, and beside another model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.auditing.examine import Asker
from trex.auditing.judging.findings import (
    Finding,
    counted_in,
    covered,
    in_held_out,
    share_words,
    significant,
)
from trex.auditing.judging.membership import ExaminedScene, Memberships, memberships_of
from trex.auditing.records import EXAMINED, REMEDY, Examined, Settings, option_name, read_settings
from trex.auditing.work import MANIFEST, SWEPT
from trex.families.discover import discover
from trex.families.family import Family
from trex.foundation.errors import InputError, RunError
from trex.inference.statistics.clustered import clustered_share
from trex.inference.statistics.paired import Paired, paired
from trex.inference.statistics.proportion import Proportion
from trex.runs.checked_lines import read_checked
from trex.scenes.graph import Facts
from trex.scenes.vocabulary import Vocabulary

Parts = tuple[Sequence[ExaminedScene], Sequence[ExaminedScene]]  # what made the rules, and what judged them
SAME = (
    "world",
    "scenes",
    "held_out",
    "questions",
    "look",
    "sure",
    "seed",
    "bank_seed",
    "families",
)  # settings that make scenes comparable
Row = tuple[Facts, Examined]


@dataclass(frozen=True)
class Agreement:
    """How two sets of families divide the same confident mistakes into those they hold and the others.

    The first set was made from one part of an audit's scenes and judged by the other; for the second the two parts
    swap roles. Neither takes the deciding look into account. `same`: the mistakes that both sets hold, or neither;
    `kappa`: Cohen's (1960, Educational and Psychological Measurement 20, 37-46), None if chance alone would agree
    everywhere. `words`: how many sentences each set has, and how many both have word for word.
    """

    same: Proportion
    kappa: float | None
    words: tuple[int, int, int]


@dataclass(frozen=True)
class Fresh:
    """Confirmed families in fresh scenes.

    `coverage`: of all confident mistakes, those that belong to one of them; `fails`, by the number of a family: of the
    scenes in which its conditions hold, those in which the model fails so; `covers`: its share of the mistakes.
    """

    scenes: int
    coverage: Proportion
    fails: Mapping[int, Proportion]
    covers: Mapping[int, Proportion]
    agreement: Agreement


def in_fresh_scenes(
    parts: Parts,
    families: Sequence[Family],
    confirmed: set[int],
    scenes: Sequence[ExaminedScene],
    vocabulary: Vocabulary,
) -> Fresh:
    """What confirmed families, given by their places, hold in fresh scenes; `parts` made and judged the rules.

    Families are worded as the judging part has left them (`held_out`); fresh scenes reword none.
    """
    memberships = memberships_of(families, scenes)
    fails = {}
    chosen = sorted(confirmed)
    for number, seen in zip(chosen, counted_in([families[k] for k in chosen], scenes), strict=True):
        fails[number] = Proportion(len(seen.failures), len(seen.inside))
    return Fresh(
        len(scenes),
        covered(memberships, confirmed),
        fails,
        {number: covered(memberships, {number}) for number in fails},
        _agreement(parts, scenes, vocabulary),
    )


def agreement(first: Memberships, second: Memberships) -> tuple[Proportion, float | None]:
    """Of the mistakes that belong to a family of both sets or of neither: their share, and Cohen's kappa."""
    pairs = [
        [(bool(numbers), bool(other)) for numbers, other in zip(mine, theirs, strict=True)]
        for mine, theirs in zip(first, second, strict=True)
    ]
    same = clustered_share(
        [sum(item == other for item, other in picture) for picture in pairs], list(map(len, pairs))
    )
    flat = [pair for picture in pairs for pair in picture]
    if not flat:
        return same, None
    held = [sum(pair[k] for pair in flat) / len(flat) for k in (0, 1)]
    chance = held[0] * held[1] + (1 - held[0]) * (1 - held[1])
    return same, None if chance == 1.0 else (same.value - chance) / (1.0 - chance)


def _agreement(parts: Parts, scenes: Sequence[ExaminedScene], vocabulary: Vocabulary) -> Agreement:
    """How the rules of either part, judged by the other, agree; of these parts alone, without what copies show."""
    training, judging = parts
    both = [
        in_held_out(discover(made, vocabulary), judged)
        for made, judged in ((training, judging), (judging, training))
    ]
    kept = [significant(held_out) for held_out in both]
    members = [memberships_of([each.family for each in held_out], scenes) for held_out in both]
    same, kappa = agreement(*(_of(mine, chosen) for mine, chosen in zip(members, kept, strict=True)))
    words = [{held_out[k].family.words for k in chosen} for held_out, chosen in zip(both, kept, strict=True)]
    return Agreement(same, kappa, (len(words[0]), len(words[1]), len(words[0] & words[1])))


def _of(memberships: Memberships, chosen: set[int]) -> list[list[set[int]]]:
    return [[numbers & chosen for numbers in picture] for picture in memberships]


@dataclass(frozen=True)
class Other:
    """Another model, and its answers about the held-out scenes."""

    model: str
    examined: tuple[Examined, ...]


@dataclass(frozen=True)
class Beside:
    """Held-out scenes by which model, this one first, makes a confident mistake in them.

    `families` says so of each confirmed family, by its number: of the scenes in which its conditions hold, those in
    which a model fails as the family says. `judged`: the families among which these were confirmed in the same scenes.
    """

    model: str
    mistakes: Paired
    families: Mapping[int, Paired]
    judged: int

    def corrected(self, number: int) -> float:
        """The p-value of a family, corrected for all that were judged (Bonferroni): confirmed ones are a choice of the
        same scenes, made for the failures of one model."""
        return min(1.0, self.families[number].p_value * self.judged)


def read_other(folder: Path, settings: Settings) -> Other:
    """The other audit, whose folder is only read; InputError unless its scenes and questions are the same.

    RunError if it is not finished or damaged.
    """
    known = read_settings(folder / MANIFEST, inside=folder)
    if known is None:
        raise InputError(f"--beside {folder} holds no audit; give a folder that trex audit has written")
    if differing := [option_name(name) for name in SAME if getattr(known, name) != getattr(settings, name)]:
        raise InputError(
            f"--beside {folder} is of other scenes or questions; give both audits the same {', '.join(differing)}"
        )
    path, total = folder / SWEPT, settings.scenes + settings.held_out
    found = read_checked(path)
    if found.sound < len(found.lines):
        raise RunError(
            f"{path}, line {found.sound + 1}, was changed; give that audit's own command again first"
        )
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


def beside(
    held_out: Sequence[Row], other: Other, confirmed: Sequence[Finding], judged: int, asker: Asker
) -> Beside:
    """How two models compare in the held-out scenes, for the families that were confirmed of those `judged`.

    `asker` is the first model's, whose questions are the same.
    """
    mistakes = paired(
        [bool(mine.mistakes) for _, mine in held_out], [bool(theirs.mistakes) for theirs in other.examined]
    )
    counts = measured([finding.family for finding in confirmed], held_out, other, asker)
    return Beside(
        other.model,
        mistakes,
        {finding.number: paired for finding, paired in zip(confirmed, counts, strict=True)},
        judged,
    )


def measured(families: Sequence[Family], held_out: Sequence[Row], other: Other, asker: Asker) -> list[Paired]:
    """For each family, of the scenes in which its conditions hold, those in which each model fails so."""
    both = [
        (ExaminedScene(facts, mine, asker), ExaminedScene(facts, theirs, asker))
        for (facts, mine), theirs in zip(held_out, other.examined, strict=True)
    ]
    return [_family(family, both) for family in families]


def _family(family: Family, rows: Sequence[tuple[ExaminedScene, ExaminedScene]]) -> Paired:
    first, second = list[bool](), list[bool]()
    for mine, theirs in rows:
        failed, n, _ = mine.failing(family)
        if n:
            first.append(bool(failed))
            second.append(bool(theirs.failing(family)[0]))
    return paired(first, second)


def agreement_words(agreement: Agreement) -> str:
    """How stable the families are, in one sentence."""
    first, second, both = agreement.words
    if not first and not second:
        return (
            "Of rules that one half of the random scenes makes and the other judges, none holds, either way."
        )
    kappa = "" if agreement.kappa is None else f" (Cohen's kappa {agreement.kappa:.2f})"
    return (
        "If the random scenes that made the rules and those that judged them swap roles, "
        f"the number of rules that hold is {second} instead of {first}; with the same words: {both}. Of the "
        f"confident mistakes in fresh scenes, both sets of rules hold the same or leave out the same: "
        f"{share_words(agreement.same)}{kappa}."
    )


def beside_words(model: str, beside: Beside) -> str:
    """How often an audit's model and the other one make a confident mistake in the same scenes, in one sentence."""
    counts, what = beside.mistakes, "held-out scenes with a confident mistake"
    return counts.words(model, beside.model, what, counts.p_value)
