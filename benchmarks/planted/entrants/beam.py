"""A beam over conjunctions of conditions, explored by Thompson sampling from a Gaussian process.

In the manner of Revelio (2026), written anew: conjunctions that share conditions have similar chances of failing; a
sample of the process chooses the next one to render, and the beam keeps and extends those of the highest mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.planted.entrants.arms import CONDITIONS, Arm, Arms, arms_of, claimed
from benchmarks.planted.entrants.entry import Hint, Result
from benchmarks.planted.referee import Referee

WIDTH, LONGEST, BATCH = 12, 4, 10
LEAST = 3  # free draws that an arm must have
SCALE = 1.5  # conditions by which two arms differ, over which they resemble each other
AMPLITUDE, NOISE = 0.35, 0.25
RECENT = 250  # arms that the process is conditioned on, those with most renders
Floats = NDArray[np.float64]


def beam(referee: Referee, seed: int, hints: tuple[Hint, ...]) -> Result:
    """Arms of one condition first; each round longer ones of the best are added."""
    arms, rng = arms_of(referee), np.random.default_rng(seed)
    known: dict[Arm, tuple[int, int]] = {}
    candidates: list[Arm] = [(k,) for k in range(len(CONDITIONS)) if len(arms.members((k,))) >= LEAST]
    rounds = LONGEST * 2
    for round_ in range(rounds):
        share = referee.left // (rounds - round_)
        _explore(arms, candidates, known, share, rng)
        best = _best(arms, candidates, known)
        longer = [
            tuple(sorted((*arm, k)))
            for arm in best
            if len(arm) < LONGEST
            for k in range(len(CONDITIONS))
            if k not in arm
        ]
        fresh = [arm for arm in dict.fromkeys(longer) if arm not in best and len(arms.members(arm)) >= LEAST]
        kept = rng.permutation(len(fresh))[: 12 * WIDTH]
        candidates = [*best, *(fresh[int(k)] for k in sorted(kept))]
    singles: list[Arm] = [(k,) for k in range(len(CONDITIONS))]
    return Result(claimed(arms, [*dict.fromkeys([*singles, *known, *candidates])]), sum(arms.failed.values()))


def _explore(
    arms: Arms,
    candidates: list[Arm],
    known: dict[Arm, tuple[int, int]],
    renders: int,
    rng: np.random.Generator,
) -> None:
    """Render draws of the arms that samples of the process say fail most."""
    closed = set[Arm]()
    while renders > 0 and len(closed) < len(candidates):
        mean, deviation = _process(arms, candidates, known)
        drawn = mean + deviation * rng.standard_normal(len(mean))
        order = [candidates[int(k)] for k in np.argsort(-drawn) if candidates[int(k)] not in closed]
        for arm in order[: min(BATCH, renders)]:
            if arms.pull(arm) is None:
                closed.add(arm)
                continue
            renders -= 1
            known[arm] = arms.seen(arm)


def _best(arms: Arms, candidates: list[Arm], known: dict[Arm, tuple[int, int]]) -> list[Arm]:
    mean, _ = _process(arms, candidates, known)
    return [candidates[int(k)] for k in np.argsort(-mean, kind="stable")[:WIDTH]]


def _process(arms: Arms, candidates: list[Arm], known: dict[Arm, tuple[int, int]]) -> tuple[Floats, Floats]:
    """Mean and deviation of each candidate's chance of failing, given what was seen."""
    seen = sorted(known, key=lambda arm: (-known[arm][1], arm))[:RECENT]
    if not seen:
        return np.full(len(candidates), arms.base), np.full(len(candidates), AMPLITUDE)
    at, there = _vectors(candidates), _vectors(seen)
    counts = np.array([known[arm] for arm in seen], dtype=np.float64)
    gram = _kernel(there, there) + np.diag(NOISE / counts[:, 1])
    cross = _kernel(at, there)
    solved = np.linalg.solve(gram, np.column_stack([counts[:, 0] / counts[:, 1] - arms.base, cross.T]))
    mean = arms.base + cross @ solved[:, 0]
    variance = AMPLITUDE**2 - np.einsum("ij,ji->i", cross, solved[:, 1:])
    return mean, np.sqrt(np.maximum(1e-9, variance))


def _vectors(arms: list[Arm]) -> Floats:
    found = np.zeros((len(arms), len(CONDITIONS)))
    for row, arm in zip(found, arms, strict=True):
        row[list(arm)] = 1.0
    return found


def _kernel(first: Floats, second: Floats) -> Floats:
    apart = first.sum(axis=1)[:, None] + second.sum(axis=1)[None] - 2.0 * first @ second.T
    found: Floats = AMPLITUDE**2 * np.exp(-apart / SCALE)
    return found
