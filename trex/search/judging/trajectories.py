"""What the figures of a run's steps say, for kernels that record some: trajectories of NUTS, levels of SMC."""

from __future__ import annotations

from collections.abc import Sequence

from trex.inference.nuts.diagnosis import NutsDiagnosis, diagnose_nuts
from trex.inference.nuts.options import DEPTH
from trex.inference.targets import GaussianTarget
from trex.inference.types import Draw
from trex.query.schema import SearchSection
from trex.runs.record import CHAIN, Record
from trex.worlds.latents import Latent
from trex.worlds.samplers.nuts import nuts_options


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
