"""Two audits finding by finding: what each model does under the conditions of every confirmed family of either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trex.auditing.audit import Audit
from trex.auditing.compare import Beside, Other, measured
from trex.auditing.records import DOCUMENT
from trex.families.discover import conditions_of
from trex.families.family import Family, Share
from trex.families.pattern import Pattern
from trex.families.symptom import Symptom
from trex.foundation.codec import Codec
from trex.foundation.errors import RunError
from trex.inference.statistics.discoveries import level_of_chosen
from trex.inference.statistics.paired import Paired
from trex.inference.statistics.proportion import Proportion, clopper_pearson
from trex.scenes.conditions import Level
from trex.scenes.vocabulary import Vocabulary
from trex.trials.lines import AGAIN


@dataclass(frozen=True)
class StoredWordings:
    depends: bool = False


@dataclass(frozen=True)
class StoredFinding:
    """What is read of a family in `report.json`: conditions by key, and the rate with its interval."""

    words: str
    symptom: str
    level: Level
    conditions: tuple[str, ...]
    became: tuple[tuple[str, str, int], ...]
    confirmed: bool
    rate: float
    rate_low: float
    rate_high: float
    harm: float
    wordings: StoredWordings = StoredWordings()


@dataclass(frozen=True)
class StoredSettings:
    deciding: str


@dataclass(frozen=True)
class StoredAudit:
    """What is read of another audit's `report.json`."""

    settings: StoredSettings
    families: tuple[StoredFinding, ...]

    @property
    def confirmed(self) -> tuple[StoredFinding, ...]:
        """The confirmed families."""
        return tuple(each for each in self.families if each.confirmed)


CODEC = Codec(StoredAudit)


@dataclass(frozen=True)
class FoundRate:
    """How often random scenes hold a failure that its model's audit has confirmed at this look.

    `depends_on_wording`: whether that audit knows that it fails so only in some wordings of the questions.
    """

    share: Share
    look: str
    depends_on_wording: bool = False


@dataclass(frozen=True)
class SideBySide:
    """A confirmed family of one model or of both.

    `counts`: of the held-out scenes in which its conditions hold, those in which a model fails so, the first model
    first; None if this version cannot tell which these are. `rates` of both models, None of one whose audit has not
    confirmed it. `p_value` is corrected for all families that were judged (Bonferroni), and the shares have intervals
    of `level` (`level_of_chosen`): those that were confirmed are a choice of the same scenes. `harm` is the larger of
    both.
    """

    words: str
    counts: Paired | None
    rates: tuple[FoundRate | None, FoundRate | None]
    harm: float
    p_value: float = 1.0
    level: float = 0.95

    def fails(self, second: bool) -> Proportion | None:
        """The share in which one of the models fails, the first one unless `second`."""
        if self.counts is None or not self.counts.n:
            return None
        alone = self.counts.only_second if second else self.counts.only_first
        count, n = self.counts.both + alone, self.counts.n
        return Proportion(count, n, clopper_pearson(count, n, self.level))


def read_findings(folder: Path) -> StoredAudit:
    """The families of a finished audit; RunError if it is not finished, or damaged."""
    found = CODEC.read(folder / DOCUMENT, AGAIN, inside=folder)
    if found is None:
        raise RunError(f"--beside {folder} is not finished; give its own command again first")
    return found


def side_by_side(
    done: Audit, beside: Beside, other: Other, theirs: StoredAudit, vocabulary: Vocabulary
) -> tuple[SideBySide, ...]:
    """The confirmed families of both models, the most harmful first; those of the same sentence are one.

    A sentence follows from what is misread, as what, and the conditions.
    """
    look = done.settings.deciding
    rows = {
        finding.words: SideBySide(
            finding.words,
            beside.families[finding.number],
            (FoundRate(Share(finding.rate, *finding.rate_interval), look, finding.depends_on_wording), None),
            finding.harm,
        )
        for finding in done.confirmed
    }
    alone = {each.words: _family(each, vocabulary) for each in theirs.confirmed if each.words not in rows}
    known = [family for family in alone.values() if family]
    counts = iter(measured(known, done.held_out, other, done.asker))
    for each in theirs.confirmed:
        share = Share(each.rate, each.rate_low, each.rate_high)
        rate = FoundRate(share, theirs.settings.deciding, each.wordings.depends)
        mine = rows.get(each.words)
        if mine is None:
            paired = next(counts) if alone[each.words] else None
            rows[each.words] = SideBySide(each.words, paired, (None, rate), each.harm)
        else:
            both = mine.rates[0], rate
            rows[each.words] = SideBySide(each.words, mine.counts, both, max(mine.harm, each.harm))
    judged = beside.judged + len(theirs.families)
    level = level_of_chosen(len(done.confirmed) + len(theirs.confirmed), judged)
    return tuple(_corrected(row, judged, level) for row in sorted(rows.values(), key=lambda row: -row.harm))


def _corrected(row: SideBySide, judged: int, level: float) -> SideBySide:
    p_value = 1.0 if row.counts is None else min(1.0, row.counts.p_value * judged)
    return replace(row, p_value=p_value, level=level)


def _family(stored: StoredFinding, vocabulary: Vocabulary) -> Family | None:
    """The family of a stored finding; None if it does not read as it did, as one of another version may."""
    known = {condition.key: condition for condition in conditions_of(vocabulary)[stored.level]}
    if not all(key in known for key in stored.conditions):
        return None
    pattern = Pattern.of(known[key] for key in stored.conditions)
    family = Family(pattern, Symptom(stored.level, stored.symptom), stored.became)
    return next((each for each in (family, family.wider) if each.words == stored.words), None)


def document_of(rows: Sequence[SideBySide]) -> list[dict[str, object]]:
    """The rows as JSON; null for what was not measured."""
    return [
        {
            "words": row.words,
            "models": [_side(row.rates[k], row.fails(bool(k))) for k in (0, 1)],
            "corrected_p_value": None if row.counts is None else row.p_value,
        }
        for row in rows
    ]


def _side(rate: FoundRate | None, fails: Proportion | None) -> Mapping[str, object]:
    return {
        "rate": rate and {"value": rate.share.value, "low": rate.share.low, "high": rate.share.high},
        "look": rate and rate.look,
        "depends_on_wording": rate and rate.depends_on_wording,
        "fails": fails
        and {"hits": fails.count, "of": fails.of, "low": fails.interval.low, "high": fails.interval.high},
    }
