"""What a simulation runs, and two moves made of a bank of cheap-scored scenes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.kernels.stand_in_world import N_OBJECTS, Floats, StandIn, colors, prior
from trex.inference.leading_target import LOG_FLOOR, POWER

TRANSPLANTS, FROM_BANK, BLUR, TOP = 0.3, 0.7, 0.08, 40
EXCHANGES = 0.05


@dataclass(frozen=True)
class Arm:
    """What is run; n_inner 0 is the plain block kernel. `bank` cheap-scored scenes are given beforehand.

    `budget` counts renders at the deciding look for all `chains` together.
    """

    world: StandIn
    ratio: float = 20.0
    n_inner: int = 0
    power: float = POWER
    log_floor: float = LOG_FLOOR
    bank: int = 0
    idea: str = ""
    chains: int = 8
    budget: float = 400.0

    def lead(self, z: Floats) -> Floats:
        return np.logaddexp(self.power * self.world.cheap(z), self.log_floor)


class Bank:
    """Cheap-scored scenes of each run, (N, M, 6, 5) one copy per chain, and proposals made of them."""

    def __init__(self, rng: np.random.Generator, arm: Arm, runs: int) -> None:
        self.rng, self.run = rng, np.repeat(np.arange(runs), arm.chains)
        self.scenes = prior(rng, runs * arm.bank).reshape(runs, arm.bank, N_OBJECTS + 1, 5)
        self.leads = arm.lead(self.scenes)
        top = np.argsort(-self.leads, axis=1)[:, :TOP]
        rows = np.arange(runs)[:, None]
        self.objects = self.scenes[rows, top][:, :, :N_OBJECTS].reshape(runs, -1, 5)[self.run]
        chance = np.repeat(np.exp(self.leads[rows, top]), N_OBJECTS, axis=1)[self.run]
        self.chance = chance / chance.sum(1, keepdims=True)
        if arm.idea == "exchange":
            self.pool, self.pool_leads = self.scenes[self.run], self.leads[self.run]
        self.log: list[tuple[np.ndarray, np.ndarray, Floats, Floats]] = []  # type: ignore[type-arg]

    def starts(self, arm: Arm) -> Floats:
        """40 dear renders of the likeliest, starts by tempered dear weight."""
        found = []
        for scenes, leads in zip(self.scenes, self.leads, strict=True):
            seen = scenes[np.argsort(-(leads + 0.5 * self.rng.gumbel(size=leads.size)))[:40]]
            order = np.argsort(-(0.03 * arm.world.dear(seen)[0] + self.rng.gumbel(size=40)))
            found.append(seen[order[: arm.chains]])
        return np.concatenate(found)

    def transplant(self, z: Floats, to: Floats) -> Floats:
        """Idea 1: one object drawn anew from a blurred mixture of the best bank members' objects; the log q ratio."""
        n = len(z)
        rows, here = np.arange(n), self.rng.random(n) < TRANSPLANTS
        i, new = self.rng.integers(N_OBJECTS, size=n), self._object()
        old = z[rows, i]
        to[here] = z[here]
        to[rows[here], i[here]] = new[here]
        return np.where(here, np.log(self._density(old)) - np.log(self._density(new)), 0.0)

    def _object(self) -> Floats:
        n = len(self.objects)
        fresh, to = self.rng.random((n, 5)), self.rng.random((n, 5))
        picked = (np.cumsum(self.chance, axis=1) > self.rng.random((n, 1))).argmax(1)
        source = self.objects[np.arange(n), picked]
        to[:, 0] = (colors(source) + to[:, 0]) / 7
        to[:, 1] = 0.5 * (source[:, 1] >= 0.5) + 0.5 * to[:, 1]
        to[:, 2:4] = (source[:, 2:4] + self.rng.normal(0.0, BLUR, (n, 2))) % 1
        return np.where(self.rng.random((n, 1)) < FROM_BANK, to, fresh)

    def _density(self, item: Floats) -> Floats:
        alike = (colors(self.objects) == colors(item)[:, None]) & (
            (self.objects[..., 1] < 0.5) == (item[:, None, 1] < 0.5)
        )
        off = (item[:, None, 2:4] - self.objects[..., 2:4] + 0.5) % 1 - 0.5
        near: Floats = np.exp(-0.5 * (off**2).sum(-1) / BLUR**2) / (2 * np.pi * BLUR**2)
        density: Floats = 1.0 - FROM_BANK + FROM_BANK * (self.chance * alike * 14.0 * near).sum(1)
        return density

    def exchange(self, z: Floats, leads: Floats) -> np.ndarray:  # type: ignore[type-arg]
        """Idea 2: scene and a bank member, drawn by its cheap weight, change places (in place); which chains tried.

        Exact on pairs of scene and bank, if the bank's members are prior draws.
        """
        here = self.rng.random(len(z)) < EXCHANGES
        total = np.exp(self.pool_leads).sum(1)
        k = (np.cumsum(np.exp(self.pool_leads), axis=1) > (self.rng.random(len(z)) * total)[:, None]).argmax(
            1
        )
        after = total - np.exp(self.pool_leads[np.arange(len(z)), k]) + np.exp(leads)
        rows = np.flatnonzero(here & (self.rng.random(len(z)) < total / after))
        k = k[rows]
        self._swap(rows, k, z, leads)
        return here

    def _swap(self, rows, k, z: Floats, leads: Floats) -> None:  # type: ignore[no-untyped-def]
        self.log.append((rows, k, self.pool[rows, k].copy(), self.pool_leads[rows, k].copy()))
        old, old_leads = z[rows].copy(), leads[rows].copy()
        z[rows], leads[rows] = self.pool[rows, k], self.pool_leads[rows, k]
        self.pool[rows, k], self.pool_leads[rows, k] = old, old_leads

    def undo(self, rejected: np.ndarray) -> None:  # type: ignore[type-arg]
        """Put back what a step took whose end was rejected."""
        for rows, k, scenes, leads in reversed(self.log):
            bad = rejected[rows]
            self.pool[rows[bad], k[bad]], self.pool_leads[rows[bad], k[bad]] = scenes[bad], leads[bad]
        self.log.clear()
