"""Which look led the chains, in a sentence, and how each look that was tried ranks scenes."""

from __future__ import annotations

from typing import NamedTuple

from trex.inference.statistics.gate import LEAST, LEAST_TOP
from trex.pages.table import Table, table_of
from trex.runs.manifest import Manifest
from trex.search.results import Results
from trex.search.sampling.calibration import LookCalibration, TriedLook
from trex.worlds.costs import inner_steps
from trex.worlds.kernels import SURROGATE
from trex.worlds.looks import DECIDING


class CalibrationView(NamedTuple):
    """The sentence, and for each look both rank correlations and whether it may lead."""

    sentence: str
    table: Table[tuple[str, ...]]


def calibration_view(manifest: Manifest, results: Results) -> CalibrationView | None:
    """The calibration of looks; None for a search without a bank."""
    found = results.calibration
    if found is None:
        return None
    rows = [
        (
            row.look,
            _correlation(gate.rank_correlation),
            _correlation(gate.top_fifth),
            "yes" if gate.passes else "no",
        )
        for row in found.tried
        for gate in [row.gate]
    ]
    heads = ("preset", "rank correlation", "near the level set", "may lead")
    return CalibrationView(
        _sentence(manifest, results, found), table_of("Presets that may lead", heads, rows)
    )


def _sentence(manifest: Manifest, results: Results, found: LookCalibration) -> str:
    search = manifest.query.search
    if not results.proposals:
        return f"No chain was run, so no preset had to lead: {_ranks(found.tried[-1])}."
    if search.kernel != SURROGATE:
        return (
            f"Kernel {search.kernel} uses the deciding preset for every step: no cheap preset led the chains."
        )
    if found.lead == DECIDING:
        tried = [row.look for row in found.tried]
        return (
            f"No cheap preset led the chains (tried: {', '.join(tried)}): each step proposed one change and cost one "
            f"scene at the deciding preset, where {tried[0]} would have tried {inner_steps(manifest.query, tried[0])}."
        )
    inner = inner_steps(manifest.query, found.lead)
    led = f"Preset {found.lead} led the chains, {inner} of its steps for one at the deciding preset"
    anew = " It also chose anew which scenes of the bank were rendered." if results.is_chosen_anew else ""
    return f"{led}: {_ranks(found.tried[-1])}.{anew}"


def _ranks(row: TriedLook) -> str:
    overall, near = _correlation(row.gate.rank_correlation), _correlation(row.gate.top_fifth)
    return (
        f"{row.look} ranks scenes as the deciding preset does with rank correlation {overall}, and {near} among those "
        f"nearest to the level set ({LEAST:g} and {LEAST_TOP:g} are needed to lead)"
    )


def _correlation(correlation: float | None) -> str:
    return "unknown (all scores are equal)" if correlation is None else f"{correlation:.2f}"
