"""Step 4: what an audit found, in figures that hold for scenes which nobody has looked at before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from trex.auditing.judging.confirm import SHOWN, Failing
from trex.auditing.judging.membership import ExaminedScene, Memberships, mistakes_of
from trex.auditing.judging.reword import Wordings
from trex.auditing.judging.sought import Sought
from trex.auditing.records import Tested
from trex.families.family import CLEAR, Family
from trex.families.symptom import is_such
from trex.foundation.words import percent, percent_span
from trex.inference.statistics.clustered import clustered_share
from trex.inference.statistics.discoveries import discoveries, excess_p_value, level_of_chosen
from trex.inference.statistics.proportion import Interval, Proportion, clopper_pearson
from trex.pages.notebook_html import block_html

FALSE_SHARE = 0.05  # of the families that are confirmed
CONFIDENCE = 0.95  # of intervals
SHARED = 0.2  # of the failures of the smaller of two families: with more they are told as one
SUCH = {
    "object": "scenes with such an object",
    "scene": "such scenes",
    "question": "scenes with such a question",
}
Unit = tuple[int, str, str, int]  # the scene, how a unit of it fails, and which one
Judges = tuple[
    Sought, Sequence[ExaminedScene]
]  # of one family: random scenes that meet its conditions, and examined


@dataclass(frozen=True, repr=False)
class Finding:
    """A family, judged by the held-out scenes, none of which its rule was made from.

    `holds`: the scenes in which its conditions hold for some unit; `fails`: those of them in which the model fails as
    the family says; `stays`: those of these that fail again at the deciding look, of those rendered there. `rate`:
    how often a scene of the prior holds a failure that stays; scenes that fail at the deciding look alone are not
    counted. Of a rare family, `holds` is of random scenes that were drawn and not rendered, and `fails` also of those
    that were rendered because its conditions hold. `survives`: of the mistakes of a few failing scenes, the mean share
    that stays after each change of the scene, and the number of scenes. `within`: the number of a more harmful family
    that shares more than SHARED of the failures, with which it is told.
    """

    number: int
    family: Family
    words: str
    holds: Proportion
    fails: Proportion
    stays: Proportion
    rate: float
    rate_interval: Interval
    confidence: float
    severity: float
    p_value: float
    is_confirmed: bool
    survives: Mapping[str, tuple[float, int]]
    covers: Proportion  # of the confident mistakes of the held-out scenes, those that belong to the family
    stayed: tuple[Tested, ...]  # the failures that fail again at the deciding look
    is_sought: bool = False  # `holds` is of scenes that were drawn for this family alone
    wordings: Wordings | None = (
        None  # how these fare if their questions are put in other words; None if not asked
    )
    within: int | None = None

    def __repr__(self) -> str:
        return f"<Finding {self.number}: {self.sentence} {rate_words(self)}>"

    def _repr_html_(self) -> str:
        """The sentence, how much of what it speaks of fails so, and how often that occurs, for notebooks."""
        return block_html(self.sentence, [self.extent, f"{rate_words(self)}."], [], f"family {self.number}")

    @property
    def depends_on_wording(self) -> bool:
        """Whether it is known that the failures depend on how the question is put."""
        return self.wordings is not None and self.wordings.matter

    @property
    def sentence(self) -> str:
        """Its words, and that they hold only in some wordings if that is so."""
        if not self.depends_on_wording:
            return self.words
        return f"{self.words.removesuffix('.')}, but only in some wordings."

    @property
    def extent(self) -> str:
        """In how many of the scenes that its sentence speaks of the model fails so, and how many failures stay."""
        stay = f"; {self.stays.counted} failures stay when rendered again" if self.stays.of else ""
        return f"It does so in {share_words(self.fails, SUCH[self.family.symptom.level])}{stay}."

    @property
    def shown(self) -> tuple[Tested, ...]:
        """The failures that stayed and were looked at more closely."""
        return self.stayed[:SHOWN]

    @property
    def harm(self) -> float:
        """Rate in the prior, times the mean confidence of the mistakes, times the severity that the user gave it."""
        return self.rate * self.confidence * self.severity


@dataclass(frozen=True)
class HeldOut:
    """A family in scenes that it was not made from: where its conditions hold, and which fail as its sentence says.

    `wider` counts all failures of its kind if the sentence names what units are taken for; None if it does not.
    `sought`: the random scenes among these that were examined because the conditions hold.
    """

    family: Family
    inside: tuple[float, ...]  # per scene, the share of the units under the conditions that fail
    outside: tuple[tuple[int, int], ...]  # and how many of the other units do, of how many
    failures: tuple[Failing, ...]
    wider: HeldOut | None = None
    sought: Sought | None = None

    @property
    def p_value(self) -> float:
        """Of more failures under the conditions than elsewhere: as the sentence says, and of its kind as well.

        The larger of the two. The scenes that judge decide whether the sentence names a value, so that a smaller
        p-value of the narrower claim must not count.
        """
        own = more_than_elsewhere(self.inside, self.outside)
        return own if self.wider is None else max(own, self.wider.p_value)

    @property
    def units(self) -> frozenset[Unit]:
        """The units that fail under its conditions."""
        symptom = self.family.symptom
        return frozenset(
            (examined.scene, symptom.level, symptom.what, unit)
            for _, examined, failed in self.failures
            for unit in failed
        )

    @property
    def askable(self) -> tuple[Failing, ...]:
        """The failures with a confident mistake that can be asked about again; whether others stay is not known."""
        return tuple(row for row in self.failures if mistakes_of(self.family, row[0].scene, row[1], row[2]))

    def of_scenes(self, rows: Sequence[Tested]) -> tuple[Failing, ...]:
        """The failures that were asked about in these rows."""
        scenes = {row.scene for row in rows}
        return tuple(failing for failing in self.failures if failing[1].scene in scenes)


def in_held_out(
    families: Sequence[Family], scenes: Sequence[ExaminedScene], judges: Mapping[int, Judges] | None = None
) -> list[HeldOut]:
    """What becomes of families in scenes that their rules were not made from.

    A sentence keeps the value that it names only if these scenes show it too (`named_alike`). `judges`, by the place of
    a family: further scenes for it alone.
    """
    further = judges or {}
    alone = [further[k][1] if k in further else () for k in range(len(families))]
    named = [named_alike(family, [*scenes, *more]) for family, more in zip(families, alone, strict=True)]
    return [
        _with_judges(held_out, *further[k]) if k in further else held_out
        for k, held_out in enumerate(counted_in(named, scenes))
    ]


def _with_judges(held_out: HeldOut, sought: Sought, scenes: Sequence[ExaminedScene]) -> HeldOut:
    """The family in the scenes that were sought for it as well.

    Of these, only the units that meet its conditions count: the others are in scenes that were not drawn for them.
    """
    (also,) = counted_in([held_out.family], scenes)
    joined = _joined(held_out, also)
    wider = None if held_out.wider is None or also.wider is None else _joined(held_out.wider, also.wider)
    return replace(joined, wider=wider, sought=sought)


def _joined(held_out: HeldOut, also: HeldOut) -> HeldOut:
    return replace(
        held_out,
        inside=held_out.inside + also.inside,
        failures=held_out.failures + also.failures,
    )


def named_alike(family: Family, scenes: Sequence[ExaminedScene]) -> Family:
    """The family; without the value that it names if too few of these scenes' failures show that value.

    "Is taken for a cube" needs the same share of cubes here as it had where the rule was made (CLEAR).
    """
    if not family.value:
        return family
    values = [value for situation in scenes for value in situation.values(family)]
    such = sum(is_such(family.symptom, value, family.value) for value in values)
    return family if such >= CLEAR * len(values) else family.wider


def counted_in(families: Sequence[Family], scenes: Sequence[ExaminedScene]) -> list[HeldOut]:
    """The families, as they are worded, in these scenes."""
    wider = [family.wider for family in families if family.value]
    kinds = iter(_counted(wider, scenes))
    return [
        replace(held_out, wider=next(kinds)) if held_out.family.value else held_out
        for held_out in _counted(families, scenes)
    ]


def _counted(families: Sequence[Family], scenes: Sequence[ExaminedScene]) -> list[HeldOut]:
    inside: list[list[float]] = [[] for _ in families]
    outside: list[list[tuple[int, int]]] = [[] for _ in families]
    failures: list[list[Failing]] = [[] for _ in families]
    for situation in scenes:
        for k, family in enumerate(families):
            failed, n, units = situation.failing(family)
            if n:
                inside[k].append(len(failed) / n)
            if units > n:
                outside[k].append((len(situation.everywhere(family)) - len(failed), units - n))
            if failed:
                failures[k].append((situation.facts, situation.examined, failed))
    return [
        HeldOut(family, tuple(inside[k]), tuple(outside[k]), tuple(failures[k]))
        for k, family in enumerate(families)
    ]


def findings(
    held_out: Sequence[HeldOut],
    tested: Sequence[Tested],
    memberships: Memberships,
    severity: Mapping[str, float],
) -> list[Finding]:
    """The families as the held-out scenes show them: confirmed ones first, the most harmful ones ahead.

    `memberships` are those of the mistakes in these scenes (`memberships_of`).

    A family is confirmed if units under its conditions fail as its whole sentence says more often than others, at a
    false discovery rate of FALSE_SHARE over all families (Benjamini and Hochberg 1995), and if a failure stays at the
    deciding look. The intervals of its shares are then wider (`level_of_chosen`), as few failures confirm a family
    only where they are more than usual. One that shares more than SHARED of its failures with one that says more is
    told `within` that one, so that no two that stand by themselves do. Of two, that says more of which the harm, times
    the share of scenes under the conditions that fail, is larger: a rule that holds less and is mostly right, unless it
    holds much less.
    """
    rows = [_of_failures(item, [row for row in tested if row.family == k]) for k, item in enumerate(held_out)]
    confirmed = {k for k in significant(held_out) if any(row.stays for row in rows[k])}
    level = level_of_chosen(len(confirmed), len(held_out))
    judged = [
        _finding(k, item, rows[k], memberships, severity, level if k in confirmed else None)
        for k, item in enumerate(held_out)
    ]
    ordered = sorted(judged, key=lambda finding: (not finding.is_confirmed, -finding.harm, finding.number))
    within = _told_with(
        [finding for finding in ordered if finding.is_confirmed], [item.units for item in held_out]
    )
    return [replace(finding, within=within.get(finding.number)) for finding in ordered]


def _told_with(confirmed: Sequence[Finding], units: Sequence[frozenset[Unit]]) -> dict[int, int]:
    """By the numbers of findings that do not stand by themselves, the number of that with which each is told."""
    told, within = list[int](), dict[int, int]()
    for finding in sorted(confirmed, key=lambda each: -each.harm * each.fails.value):
        lead = next((k for k in told if _shared(units[k], units[finding.number]) > SHARED), None)
        if lead is None:
            told.append(finding.number)
        else:
            within[finding.number] = lead
    return within


def _shared(one: frozenset[Unit], other: frozenset[Unit]) -> float:
    """Which share of the failures of the smaller of two families both hold."""
    return len(one & other) / max(min(len(one), len(other)), 1)


def significant(held_out: Sequence[HeldOut]) -> set[int]:
    """The families, by their places, under whose conditions units fail more often than others in these scenes."""
    named = discoveries(np.array([item.p_value for item in held_out]), FALSE_SHARE)
    return {int(k) for k in np.flatnonzero(named)}


def covered(memberships: Memberships, chosen: set[int], level: float = CONFIDENCE) -> Proportion:
    """The share of confident mistakes that belong to one of the chosen families; pictures are clusters."""
    return clustered_share(
        [sum(bool(numbers & chosen) for numbers in picture) for picture in memberships],
        [len(picture) for picture in memberships],
        level,
    )


def covered_by_confirmed(memberships: Memberships, confirmed: set[int], judged: int) -> Proportion:
    """The share of mistakes that belong to confirmed families, in the scenes that confirmed these of all `judged`.

    They were chosen by the same mistakes. So the interval is one of those which hold at once for every set of families
    (Bonferroni over their sizes, and over the sets of each size).
    """
    sets = max(1, judged * comb(judged, len(confirmed)))
    return covered(memberships, confirmed, 1.0 - (1.0 - CONFIDENCE) / sets)


def _of_failures(held_out: HeldOut, rows: Sequence[Tested]) -> list[Tested]:
    """Those rows that are of the family's failures: an older audit has asked about others too."""
    failing = {examined.scene for _, examined, _ in held_out.failures}
    return [row for row in rows if row.scene in failing]


def _finding(
    number: int,
    held_out: HeldOut,
    rows: Sequence[Tested],
    memberships: Memberships,
    severity: Mapping[str, float],
    confirmed_at: float | None,
) -> Finding:
    stayed = [row for row in rows if row.stays]
    stays = Proportion(len(stayed), len(rows))
    holds, rate, interval = _how_often(held_out, len(memberships), stays)
    failing, of, level = len(held_out.failures), len(held_out.inside), confirmed_at or CONFIDENCE
    return Finding(
        number=number,
        family=held_out.family,
        words=held_out.family.words,
        holds=holds,
        is_sought=held_out.sought is not None,
        fails=Proportion(failing, of, clopper_pearson(failing, of, level)),
        stays=stays,
        rate=rate,
        rate_interval=interval,
        confidence=float(np.mean([row.confidence for row in stayed])) if stayed else 0.0,
        severity=severity.get(held_out.family.symptom.what, 1.0),
        p_value=held_out.p_value,
        is_confirmed=confirmed_at is not None,
        survives=_survives(stayed),
        covers=covered(memberships, {number}, level),
        stayed=tuple(stayed),
    )


def _how_often(held_out: HeldOut, scenes: int, stays: Proportion) -> tuple[Proportion, float, Interval]:
    """How often the conditions hold; how often a scene of the prior holds a failure that stays, and its interval.

    The interval is the product of those of the factors, each so wide that all hold together at 95% (Bonferroni). That
    of few failures is wide enough for families which these have confirmed, too.
    """
    failing, sought = len(held_out.failures), held_out.sought
    if sought is None:
        factors = [Proportion(failing, scenes, clopper_pearson(failing, scenes, 0.975))]
        holds, level = Proportion(len(held_out.inside), scenes), 0.975
    else:
        level = 1.0 - 0.05 / 3.0
        holds, n = sought.holds(CONFIDENCE), len((held_out.wider or held_out).inside)
        factors = [sought.holds(level), Proportion(failing, n, clopper_pearson(failing, n, level))]
    factors.append(Proportion(stays.count, stays.of, clopper_pearson(stays.count, stays.of, level)))
    low, high = (float(np.prod([factor.interval[end] for factor in factors])) for end in (0, 1))
    values = [factor.value for factor in factors]
    if sought is not None:
        values[0] = sought.value
    return holds, float(np.prod(values)), Interval(low, high)


def more_than_elsewhere(inside: Sequence[float], outside: Sequence[tuple[float, float]]) -> float:
    """The p-value of shares of failing units, one for each scene, under conditions against those of other units.

    The more objects a scene has, the likelier one of them meets conditions: where failures depend on the number of
    objects, scenes with such a unit fail more often than others without the conditions mattering. Of the other units,
    the share is therefore the mean over scenes or that over units, whichever is larger: if conditions mean nothing, and
    each unit meets them with the same chance, the scenes inside count between these two.
    """
    each = [failed / units for failed, units in outside]
    every = sum(failed for failed, _ in outside) / max(1, sum(units for _, units in outside))
    elsewhere = max(sum(each), len(outside) * every)
    counts = (elsewhere + 1.0, max(len(outside) - elsewhere, 1e-9))
    return excess_p_value(float(sum(inside)), len(inside), counts)


def _survives(stayed: Sequence[Tested]) -> dict[str, tuple[float, int]]:
    """For each change of the scene: the mean share of mistakes that stay, and in how many scenes it was tried."""
    found = {}
    for name in ("noise", "nuisances", "without"):
        shares = [share for row in stayed if (share := getattr(row.variants, name)) is not None]
        if shares:
            found[name] = (float(np.mean(shares)), len(shares))
    return found


def holds_words(finding: Finding) -> str:
    """In how many scenes the conditions hold, with the interval, and which scenes these are."""
    return share_words(
        finding.holds, "random scenes drawn for this" if finding.is_sought else "held-out scenes"
    )


def share_words(share: Proportion, many: str = "") -> str:
    """A share of many things with its counts and interval: "60.0% of scenes (12 of 20; 95% CI 36.1–80.9%)"."""
    of = f" of {many}" if many else ""
    return f"{percent(share.value)}{of} ({share.count:,} of {share.of:,}; 95% CI {share.range})"


def rate_words(finding: Finding) -> str:
    """How often a scene holds a failure that stays, with the interval."""
    span = percent_span(*finding.rate_interval)
    return f"{percent(finding.rate)} of random scenes hold one that stays (95% CI {span})"
