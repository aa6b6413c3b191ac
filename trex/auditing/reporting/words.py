"""What an audit found, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trex.auditing.audit import Audit
from trex.auditing.beside import Beside
from trex.auditing.judging.findings import Finding
from trex.auditing.judging.fresh import Agreement
from trex.auditing.judging.not_found import LookedFor
from trex.auditing.reporting.searches import Lead
from trex.auditing.sweeping.records import Flip
from trex.foundation.percent import percent, percent_interval
from trex.foundation.words import counted
from trex.inference.statistics.proportion import Proportion

WAYS: Mapping[str, str] = {
    "objects": "with objects moved or redrawn",
    "noise": "under another noise seed",
    "camera": "under another camera",
    "lights": "under other lights",
}
CHANGES: Mapping[str, str] = {
    "noise": "under another noise seed",
    "nuisances": "under other lights and another camera",
    "without": "without the object responsible",
}


def share_words(share: Proportion) -> str:
    """A share with its counts and interval: "12 of 20 (36% to 81%)"."""
    return f"{share.count} of {share.of} ({percent_interval(*share.interval)})"


def headline(done: Audit) -> str:
    """What was found, in one sentence."""
    n, rejected = len(done.confirmed), len(done.findings) - len(done.confirmed)
    if not done.findings:
        return "No family of confident mistakes was found."
    said = f"{counted(n, 'failure family', 'failure families')} confirmed"
    if rejected:
        said += f", {counted(rejected, 'other rule')} not"
    if n and done.fresh and done.fresh.coverage.of:
        said += (
            f"; they hold {share_words(done.fresh.coverage)} of the confident mistakes in {done.fresh.scenes:,} fresh "
            "scenes"
        )
    elif n:
        said += (
            f"; they hold {share_words(done.coverage)} of the confident mistakes in {done.settings.held_out:,} scenes "
            "that no rule was made from"
        )
    return f"{said}."


def agreement_words(one: Agreement) -> str:
    """How stable the families are, in one sentence."""
    first, second, both = one.words
    kappa = "" if one.kappa is None else f" (Cohen's kappa {one.kappa:.2f})"
    return (
        "If the scenes that made the rules and those that judged them swap roles, "
        f"the number of rules borne out is {second} instead of {first}; with the same words: {both}. Of the "
        f"confident mistakes in fresh scenes, both sets of rules hold the same or leave out the same: "
        f"{share_words(one.same)}{kappa}."
    )


def rate_words(finding: Finding) -> str:
    """How often failures that stay occur, with the interval."""
    return f"In {percent(finding.rate)} of scenes (95%: {percent_interval(*finding.rate_interval)})"


def survival_words(finding: Finding) -> list[str]:
    """What becomes of the mistakes of a few failing scenes when the scene is changed."""
    return [
        f"{percent(share)} of the mistakes in {counted(n, 'scene')} stay {CHANGES[name]}"
        for name, (share, n) in finding.survives.items()
    ]


def probe_words(probes: Mapping[str, Proportion]) -> str:
    """How many scenes like the known failures fail in the same way, as a sentence; "" without a probe."""
    if not probes:
        return ""
    told = "; ".join(
        f"{share_words(share)} {WAYS.get(way, f'with another {way}')}" for way, share in probes.items()
    )
    return f"Of scenes made from its known failures, with its conditions kept, these fail too: {told}."


def flip_words(flip: Flip | None) -> str:
    """The smallest change after which the model is right, as a sentence; "" if none was looked for."""
    if flip is None:
        return ""
    tried = f"{flip.tried} of {flip.possible} single changes tried"
    if not flip.change:
        return f"Still wrong after each of {tried}."
    return f"Right if {flip.change} ({tried})."


def leads_words(leads: Sequence[Lead]) -> str:
    """What can be searched for, and what was, in one or two sentences."""
    n, done = len(leads), [one.searched for one in leads if one.searched]
    lean = (
        f"The model leans towards {counted(n, 'kind')} of confident mistakes that no scene shows, with at most "
        f"{percent(leads[0].hint.probability)} confidence"
    )
    if not done:
        return (
            f"{lean}; the audit's folder has a query for each (searches), and --searched N runs the first N."
        )
    found = sum(one.found > 0 for one in done)
    return f"{lean}; {len(done)} searched for, {found} found."


def searched_words(lead: Lead) -> str:
    """What became of a search: "3 found, 1.2% (.3% to 4%) of the scenes in which that answer is wrong"."""
    one = lead.searched
    if one is None:
        return f"not run: {lead.query}"
    found = f"{counted(one.found, 'scene')} found" if one.found else one.ending
    return f"{found}; {one.rate} of the scenes in which that answer is wrong ({lead.run}/report.html)"


def beside_words(beside: Beside) -> str:
    """How often two models make a confident mistake in the same scenes, in one sentence."""
    one = beside.mistakes
    return (
        f"Confident mistakes in {one.both + one.only_first:,} of {one.n:,} held-out scenes, by {beside.model} in "
        f"{one.both + one.only_second:,}; in {one.both:,} by both (exact McNemar test, p = {one.p_value:.2g})."
    )


def not_found_words(done: LookedFor) -> str:
    """What was looked for and not found, in one sentence; the weakest bound stands for all."""
    if not done.absent:
        return f"The held-out scenes show each of the {done.kinds} kinds of confident mistakes that were looked for."
    bounds = sorted(one.bound for one in done.absent)
    return (
        f"{len(done.absent)} of {done.kinds} kinds of confident mistakes that were looked for occur in no held-out "
        f"scene; the bounds on their rates reach from {percent_interval(bounds[0], bounds[-1])} of the scenes that "
        "allow them (95% each)."
    )
