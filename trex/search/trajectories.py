"""Statistics of a run's trajectories, for kernels that make some (NUTS)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trex.inference.nuts.diagnosis import NutsDiagnosis, diagnose_nuts
from trex.inference.targets import GaussianTarget
from trex.inference.types import Draw, Floats
from trex.query.schema import SearchSection
from trex.runs.record import CHAIN, Record
from trex.worlds.latents import Latent, vector_of
from trex.worlds.samplers.nuts import nuts_options


@dataclass(frozen=True)
class Trajectory:
    """One record's trajectory; satisfies `trex.inference.nuts.diagnosis.Trajectory`."""

    accept_prob: float
    is_divergent: bool
    depth: int
    n_gradients: int
    energy: float


def diagnosis_of(
    records: Sequence[Record], draws: Sequence[Draw[Latent]], target: GaussianTarget, search: SearchSection
) -> NutsDiagnosis | None:
    """Gradients, divergences, depths and energies after warmup; None for kernels of single steps."""
    figures = {(r.chain, r.index): r.figures for r in records if r.phase == CHAIN and "depth" in r.figures}
    kept = [draw for draw in draws if not draw.is_warmup and (draw.chain, draw.index) in figures]
    if not kept:
        return None
    trees = [_trajectory(figures[draw.chain, draw.index]) for draw in kept]
    vectors = [Draw[Floats](d.chain, d.index, vector_of(d.z), *d[3:]) for d in kept]
    return diagnose_nuts(vectors, trees, target, nuts_options(search))


def _trajectory(figures: Mapping[str, float]) -> Trajectory:
    return Trajectory(
        accept_prob=figures["accept_prob"],
        is_divergent=bool(figures["is_divergent"]),
        depth=int(figures["depth"]),
        n_gradients=int(figures["n_gradients"]),
        energy=figures["energy"],
    )
