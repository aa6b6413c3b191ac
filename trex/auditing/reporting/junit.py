"""The families of an audit as test cases."""

from __future__ import annotations

from trex.auditing.audit import Audit
from trex.auditing.judging.findings import Finding
from trex.auditing.reporting.words import not_found_words, rate_words, share_words
from trex.foundation.junit import Case, CaseStatus

NO_FAMILY = "no failure family"


def cases(done: Audit) -> list[Case]:
    """A failed case for each confirmed family; rules that were not confirmed are skipped.

    One case that passed if no family was confirmed, with what was looked for and not found.
    """
    group = done.settings.model
    told = [Case(one.words, group, _status(one), _reason(one, done)) for one in done.findings]
    if done.confirmed:
        return told
    return [Case(NO_FAMILY, group, CaseStatus.PASSED, not_found_words(done.looked_for)), *told]


def _status(one: Finding) -> CaseStatus:
    return CaseStatus.FAILED if one.is_confirmed else CaseStatus.SKIPPED


def _reason(one: Finding, done: Audit) -> str:
    stays = f"{share_words(one.stays)} failures rendered again stayed at look {done.settings.deciding}"
    return f"{rate_words(one)}; {stays}" if one.is_confirmed else f"not confirmed; {stays}"
