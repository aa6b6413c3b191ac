"""What the records of a run say of its trajectories, where the kernel makes some (NUTS)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.latents import Latent, vector_of
from harness.nuts_sampler import nuts_options
from harness.query import SearchSection
from harness.records import CHAIN, Record
from inference.nuts_diagnosis import diagnose_nuts
from inference.targets import GaussianTarget
from inference.types import Draw, Floats


@dataclass(frozen=True)
class Trajectory:
    """As `inference.nuts_diagnosis.Trajectory` has it."""

    accept_prob: float
    is_divergent: bool
    depth: int
    n_gradients: int
    energy: float


def trajectory_sentences(
    records: Sequence[Record], draws: Sequence[Draw[Latent]], target: GaussianTarget, search: SearchSection
) -> tuple[str, ...]:
    """Gradients, divergences, depths and energies after warmup; nothing of kernels that take single steps."""
    figures = {(r.chain, r.index): r.figures for r in records if r.phase == CHAIN and r.figures}
    kept = [draw for draw in draws if not draw.is_warmup and (draw.chain, draw.index) in figures]
    if not kept:
        return ()
    trees = [_trajectory(figures[draw.chain, draw.index]) for draw in kept]
    vectors = [Draw[Floats](d.chain, d.index, vector_of(d.z), *d[3:]) for d in kept]
    return diagnose_nuts(vectors, trees, target, nuts_options(search)).sentences()


def _trajectory(figures: Mapping[str, float]) -> Trajectory:
    return Trajectory(
        accept_prob=figures["accept_prob"],
        is_divergent=bool(figures["is_divergent"]),
        depth=int(figures["depth"]),
        n_gradients=int(figures["n_gradients"]),
        energy=figures["energy"],
    )
