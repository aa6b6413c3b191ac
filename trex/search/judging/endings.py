"""Corrections of a search's conclusion, in cases that the rules of `inference.statistics.verdict` do not cover.

Below them, what the figures of a run's steps say, for kernels that record some: trajectories of NUTS, levels of SMC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trex.inference.nuts.diagnosis import NutsDiagnosis, diagnose_nuts
from trex.inference.nuts.options import DEPTH
from trex.inference.statistics.how_often import HowOften
from trex.inference.statistics.verdict import MIN_CHAINS_HIT, MIN_ESS, Conclusion, Ending
from trex.inference.targets import GaussianTarget
from trex.inference.types import Draw
from trex.query.schema import SearchSection
from trex.runs.record import CHAIN, CONTROLS, RANDOM, Record
from trex.search.hits import Hits
from trex.worlds.latents import Latent
from trex.worlds.samplers.nuts import nuts_options


def corrected(
    conclusion: Conclusion,
    found: Hits,
    examples: str,
    chains: Sequence[Draw[Latent]],
    how: HowOften,
    options: SearchSection,
) -> Conclusion:
    """Correct the conclusion in three cases that its rules do not cover.

    Hits that all leave the level set under fresh noise draws are no finding. A latent that was proposed, rendered and
    scored is an example even if it never became a state; and a search that ran no chain has none to judge.
    """
    if found.fragile and not found.found:
        return replace(conclusion, ending=Ending.NOT_FOUND, sentences=(_none_survives(found, how),))
    if conclusion.ending is Ending.NOT_FOUND and found.hits:
        words = f"FOUND: {examples or f'{found.hits} draws'} in the level set, {_outside(found)}."
        return replace(conclusion, ending=Ending.FOUND, sentences=(words,), n_hits=found.hits)
    if conclusion.ending is Ending.FOUND and not chains:
        return replace(conclusion, sentences=(conclusion.sentences[0], _no_chain(found, how, options)))
    return conclusion


def related(conclusion: Conclusion, lines: int | None) -> Conclusion:
    """Correct the conclusion for particles of few starts: copies of one particle agree wherever it is.

    `lines` is how many starts they descend from, None for chains, of which each has its own.
    """
    if lines is None or lines >= MIN_CHAINS_HIT or conclusion.ending is not Ending.CONVERGED:
        return conclusion
    words = (
        f"FOUND: {conclusion.n_hits} draws are in the level set. Valid as examples, not as a distribution.",
        f"Not converged: the particles that hit descend from {lines} starts ({MIN_CHAINS_HIT} are needed).",
    )
    return replace(conclusion, ending=Ending.FOUND, sentences=words)


def _outside(found: Hits) -> str:
    """Where hits come from that are neither states of the chains nor prior draws that the rate counts."""
    phases = {record.phase for record in found.found}
    if phases & set(RANDOM):
        return "among prior scenes that the rate does not count"
    if phases & set(CONTROLS):
        return "but only of a positive control, which searches for something easier"
    return "but only as proposals; none became a chain's state"


def _none_survives(found: Hits, how: HowOften) -> str:
    n = len(found.fragile)
    words = "1 distinct hit was" if n == 1 else f"{n} distinct hits were"
    return (
        f"NOT FOUND: {words} in the level set once and left it under new render noise, so the model reacted to "
        f"the renderer's noise. With that noise, it happens in {how.rate.figure} of all prior draws."
    )


def _no_chain(found: Hits, how: HowOften, options: SearchSection) -> str:
    """Why no chain was run; the reasons are in the order in which a search decides."""
    if 0 < options.stop_when_found <= len(found.found):
        return "No chain was run: the prior draws already held what was asked for."
    if how.is_common:
        return (
            f"No chain was run: the target is common, but the effective size of {how.n} prior draws is only "
            f"{how.ess:.1f} ({MIN_ESS:.0f} are needed for them to represent it); raise search.prior_scenes."
        )
    if options.steps == 0:
        return "No chain was run: the query asks for none (search.steps = 0)."
    return "No chain has been run yet."


def diagnosis_of(
    draws: Sequence[Draw[Latent]], target: GaussianTarget, search: SearchSection
) -> NutsDiagnosis | None:
    """Gradients, divergences, depths and energies after warmup; None for kernels of single steps."""
    kept = [draw for draw in draws if not draw.is_warmup and DEPTH in draw.figures]
    return diagnose_nuts(kept, target, nuts_options(search)) if kept else None


def lines_left(records: Sequence[Record]) -> int | None:
    """How many starts the particles of SMC descend from at the end; None for kernels that resample nothing."""
    last = {record.chain: record for record in records if record.phase == CHAIN and "line" in record.figures}
    return len({record.figures["line"] for record in last.values()}) if last else None


def level_sentences(records: Sequence[Record]) -> tuple[str, ...]:
    """How far the levels of SMC have risen, as a sentence; none for kernels without levels."""
    steps = [record for record in records if record.phase == CHAIN and "level" in record.figures]
    if not steps:
        return ()
    levels, n = int(max(record.figures["level"] for record in steps)), len({record.chain for record in steps})
    moves = len({record.index for record in steps if not record.is_warmup})
    reached = (
        f"rose to the target through {levels - 1} level{'s' if levels != 2 else ''}, and were moved there in {moves} "
        "rounds"
        if any(record.is_copy and record.figures.get("power") == 1 for record in steps)
        else f"reached level {levels} on the way to the target, not the target, so that no draw stands for it; raise "
        "search.steps"
    )
    return (
        f"SMC: {n} particles {reached}. They descend from {lines_left(records)} of {n} starts. One run's mass is no "
        "estimate and is not stated: the mean of at least 8 runs is one (docs/concepts/statistics.md).",
    )
