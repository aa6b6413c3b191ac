"""An audit for machines: as JSON, and its families as test cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from trex.auditing.audit import Audit
from trex.auditing.beside import Beside
from trex.auditing.judging.findings import Finding
from trex.auditing.judging.fresh import Agreement, Fresh
from trex.auditing.reporting.searches import Lead
from trex.auditing.reporting.words import headline, not_found_words, rate_words, share_words
from trex.foundation.junit import Case, CaseStatus
from trex.inference.statistics.paired import Paired
from trex.inference.statistics.proportion import Proportion

NO_FAMILY = "no failure family"


def document(done: Audit, leads: Sequence[Lead] = (), beside: Beside | None = None) -> dict[str, object]:
    """The audit as JSON, with the leads to further mistakes, and another model beside it if asked for."""
    compared = {} if beside is None else {"beside": _beside(beside, done.confirmed)}
    fresh = {} if done.fresh is None else {"fresh": _fresh(done.fresh, done.confirmed)}
    return {
        "headline": headline(done),
        "settings": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(done.settings).items()
        },
        "coverage_held_out": _share(done.coverage),
        **fresh,
        "families": [_family(one, done.probes.get(one.number, {})) for one in done.findings],
        "questions": [
            {
                "what": row.what,
                "right": _share(row.right),
                "confident_mistakes": _share(row.mistakes),
                "confidence": row.confidence,
                "stands_out": row.stands_out,
            }
            for row in done.by_question
        ],
        "looked_for": done.looked_for.kinds,
        "not_found": [
            {"what": one.what, "scenes": one.scenes, "high": one.bound, "high_together": one.together}
            for one in done.looked_for.absent
        ],
        "leads": [_lead(one) for one in leads],
        **compared,
    }


def _fresh(fresh: Fresh, confirmed: Sequence[Finding]) -> dict[str, object]:
    families = [
        {
            "words": one.words,
            "fails": _share(fresh.fails[one.number]),
            "covers": _share(fresh.covers[one.number]),
        }
        for one in confirmed
    ]
    return {
        "scenes": fresh.scenes,
        "coverage": _share(fresh.coverage),
        "families": families,
        "agreement": _agreement(fresh.agreement),
    }


def _agreement(one: Agreement) -> dict[str, object]:
    return {"same": _share(one.same), "kappa": one.kappa, "sentences": list(one.words)}


def _lead(one: Lead) -> dict[str, object]:
    searched = None if one.searched is None else {**asdict(one.searched), "run": one.run}
    return {**asdict(one.hint), "query": one.query, "searched": searched}


def _share(share: Proportion) -> dict[str, object]:
    return {"hits": share.count, "of": share.of, "low": share.interval.low, "high": share.interval.high}


def _family(one: Finding, probes: Mapping[str, Proportion]) -> dict[str, object]:
    return {
        "words": one.words,
        "symptom": one.family.symptom.what,
        "level": one.family.symptom.level,
        "conditions": [condition.key for condition in one.family.pattern.conditions],
        "confirmed": one.is_confirmed,
        "p_value": one.p_value,
        "holds": _share(one.holds),
        "fails": _share(one.fails),
        "rate": one.rate,
        "rate_low": one.rate_interval.low,
        "rate_high": one.rate_interval.high,
        "confidence": one.confidence,
        "severity": one.severity,
        "harm": one.harm,
        "survives": {name: {"share": share, "scenes": n} for name, (share, n) in one.survives.items()},
        "stays": _share(one.stays),
        "probes": {way: _share(share) for way, share in probes.items()},
        "covers": _share(one.covers),
        "became": [list(row) for row in one.family.became[:5]],
        "scenes": [row.scene for row in one.shown],
        "flips": [None if row.flip is None else asdict(row.flip) for row in one.shown],
    }


def _beside(beside: Beside, confirmed: Sequence[Finding]) -> dict[str, object]:
    return {
        "model": beside.model,
        "mistakes": _paired(beside.mistakes),
        "families": [
            {
                "words": one.words,
                **_paired(beside.families[one.number]),
                "corrected_p_value": beside.corrected(one.number),
            }
            for one in confirmed
        ],
    }


def _paired(one: Paired) -> dict[str, object]:
    return {**asdict(one), "p_value": one.p_value}


def cases(done: Audit) -> list[Case]:
    """A failed case for each confirmed family; rules that were not confirmed are skipped.

    One case that passed if no family was confirmed, with what was looked for and not found.
    """
    group = done.settings.model
    found = [Case(one.words, group, _status(one), _reason(one, done)) for one in done.findings]
    if done.confirmed:
        return found
    return [Case(NO_FAMILY, group, CaseStatus.PASSED, not_found_words(done.looked_for)), *found]


def _status(one: Finding) -> CaseStatus:
    return CaseStatus.FAILED if one.is_confirmed else CaseStatus.SKIPPED


def _reason(one: Finding, done: Audit) -> str:
    stays = f"{share_words(one.stays)} failures rendered again stayed at look {done.settings.deciding}"
    return f"{rate_words(one)}; {stays}" if one.is_confirmed else f"not confirmed; {stays}"
