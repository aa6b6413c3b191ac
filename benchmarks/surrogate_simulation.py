"""Surrogate transitions on the stand-in world at equal cost: inner steps, cost ratio, correlation; and two ideas.

    python -m benchmarks.surrogate_simulation [--runs 40] [--write]

The budget counts renders at the deciding look, 8 chains together; a cheap render costs 1 / ratio of one. --write
renews the part of benchmarks/KERNELS.md below MARK.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks import surrogate_words as words
from benchmarks.stand_in_world import (
    N_OBJECTS,
    Floats,
    StandIn,
    block_moves,
    colors,
    families,
    is_valid,
    prior,
)  # fmt: skip

MARK = "## Surrogate transitions on a stand-in world"
CHAINS, BUDGET, PRIOR_SCENES, SEED = 8, 400, 200, 5
POWER, LOG_FLOOR = 0.03, -8.0  # trex.inference.leading_target
NOISES = {
    0.95: 0.09,
    0.8: 0.22,
    0.5: 0.56,
}  # the rank correlation of log weights, and the error that gives it
RATE = 1.5  # the unit of a level set with a rate of 1.3e-3
TRANSPLANTS, FROM_BANK, BLUR, TOP = 0.3, 0.7, 0.08, 40
EXCHANGES = 0.05


@dataclass(frozen=True)
class Arm:
    """What is run; n_inner 0 is the plain block kernel. `bank` cheap-scored scenes are given beforehand."""

    world: StandIn
    ratio: float = 20.0
    n_inner: int = 0
    power: float = POWER
    log_floor: float = LOG_FLOOR
    bank: int = 0
    idea: str = ""

    def lead(self, z: Floats) -> Floats:
        return np.logaddexp(self.power * self.world.cheap(z), self.log_floor)  # type: ignore[no-any-return]


class Bank:
    """Cheap-scored scenes of each run, (N, M, 6, 5) one copy per chain, and proposals made of them."""

    def __init__(self, rng: np.random.Generator, arm: Arm, runs: int) -> None:
        self.rng, self.run = rng, np.repeat(np.arange(runs), CHAINS)
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
        """40 dear renders of the likeliest, 8 starts by tempered dear weight."""
        found = []
        for scenes, leads in zip(self.scenes, self.leads, strict=True):
            seen = scenes[np.argsort(-(leads + 0.5 * self.rng.gumbel(size=leads.size)))[:40]]
            order = np.argsort(-(0.03 * arm.world.dear(seen)[0] + self.rng.gumbel(size=40)))
            found.append(seen[order[:CHAINS]])
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
        near = np.exp(-0.5 * (off**2).sum(-1) / BLUR**2) / (2 * np.pi * BLUR**2)
        return 1.0 - FROM_BANK + FROM_BANK * (self.chance * alike * 14.0 * near).sum(1)  # type: ignore[no-any-return]

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


def tempered_starts(rng: np.random.Generator, world: StandIn, runs: int) -> Floats:
    """As `trex.inference.chains.starts`, from prior scenes at the deciding look."""
    from trex.inference.chains import tempering_power

    found = []
    for _ in range(runs):
        z = prior(rng, PRIOR_SCENES)
        log_weights = world.dear(z)[0]
        power = tempering_power(log_weights, 2.0 * CHAINS)
        found.append(z[np.argsort(-(power * log_weights + rng.gumbel(size=PRIOR_SCENES)))[:CHAINS]])
    return np.concatenate(found)


def lead_on(
    rng: np.random.Generator, arm: Arm, bank: Bank | None, start: tuple[Floats, Floats]
) -> tuple[Floats, Floats, Floats]:
    """The inner steps of all chains: the ends, their cheap log weights, and the number of cheap renders."""
    z, leads = start[0].copy(), start[1].copy()
    renders = np.zeros(len(z))
    for _ in range(arm.n_inner):
        tried = bank.exchange(z, leads) if bank and arm.idea == "exchange" else np.zeros(len(z), bool)
        to = block_moves(rng, z)
        ratio = bank.transplant(z, to) if bank and arm.idea == "transplant" else 0.0
        possible = is_valid(to) & ~tried
        renders += possible
        new = arm.lead(to)
        accepted = possible & (np.log(rng.random(len(z))) < new - leads + ratio)
        z, leads = np.where(accepted[:, None, None], to, z), np.where(accepted, new, leads)
    return z, leads, renders


def run(arm: Arm, runs: int) -> tuple[Floats, Floats, Floats]:
    """(runs,) each: distinct hits, chains that hit, families."""
    rng = np.random.default_rng(SEED)
    bank = Bank(rng, arm, runs) if arm.bank else None
    z = bank.starts(arm) if bank else tempered_starts(rng, arm.world, runs)
    (dear, hit), leads = arm.world.dear(z), arm.lead(z)
    spent, seen = np.full(len(z), 40.0 / CHAINS if bank else 0.0), hit.copy()
    kept: list[list[Floats]] = [list(part[h]) for part, h in zip(_split(z), _split(hit), strict=True)]
    while (live := spent < BUDGET / CHAINS).any():
        if arm.n_inner:
            to, new_leads, renders = lead_on(rng, arm, bank, (z, leads))
            possible = (to != z).any((1, 2))
        else:
            to, new_leads, renders = block_moves(rng, z), leads, np.zeros(len(z))
            possible = is_valid(to)
        spent += live * (renders / arm.ratio + possible)
        new, new_hit = arm.world.dear(to)
        ratio = new - dear - (new_leads - leads)
        accepted = live & possible & (np.log(rng.random(len(z))) < ratio)
        if bank:
            bank.undo(~accepted)
        z, leads = np.where(accepted[:, None, None], to, z), np.where(accepted, new_leads, leads)
        dear, hit = np.where(accepted, new, dear), np.where(accepted, new_hit, hit)
        seen |= hit
        for i in np.flatnonzero(accepted & hit):
            kept[i // CHAINS].append(z[i])
    distinct = [np.unique(np.array(part), axis=0) if part else np.empty((0, 6, 5)) for part in kept]
    groups = np.array([families(part) if len(part) else 0 for part in distinct], float)
    return np.array([len(part) for part in distinct], float), seen.reshape(-1, CHAINS).sum(1), groups


def _split(values: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return values.reshape(-1, CHAINS, *values.shape[1:])


def cell(arm: Arm, runs: int) -> str:
    """The mean and its standard error of hits and families, and chains."""
    distinct, chains, groups = run(arm, runs)
    return f"{_with_error(distinct, 0)} / {chains.mean():.1f} / {_with_error(groups, 1)}"


def _with_error(values: Floats, digits: int) -> str:
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1) / np.sqrt(values.size):.{digits}f}"


def table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    """A Markdown table."""
    yield from ("", "| " + " | ".join(head) + " |", "|" + "---|" * len(head))
    yield from ("| " + " | ".join(row) + " |" for row in rows)


def main_table(runs: int) -> Iterator[str]:
    """Inner steps by cost ratio and correlation."""
    steps = (4, 8, 16, 32)
    rows = [["block, no cheap look", "", *[cell(Arm(StandIn(RATE)), runs)], *[""] * 3]]
    for correlation, noise in NOISES.items():
        for ratio in (3, 10, 20, 40):
            cells = [cell(Arm(StandIn(RATE, noise), ratio, k), runs) for k in steps]
            rows.append([f"{correlation:g}", str(ratio), *cells])
    return table(["rank correlation", "cost ratio", *(f"{k} inner steps" for k in steps)], rows)


def flattening_table(runs: int) -> Iterator[str]:
    """Power and floor at the leading look, correlation .8, ratio 20, 16 inner steps."""
    floors = (-4.0, -8.0, -12.0, -30.0)
    rows = [
        [f"{power:g}", *(cell(Arm(StandIn(RATE, NOISES[0.8]), 20, 16, power, f), runs) for f in floors)]
        for power in (1.0, 0.1, 0.03)
    ]
    return table(["power", *(f"floor e^{floor:g}" for floor in floors)], rows)


def gate_table(runs: int) -> Iterator[str]:
    """How often 48 calibration scenes pass the gate, beside the gain."""
    from trex.inference.statistics.gate import gate

    rng, rows = np.random.default_rng(SEED), []
    for noise in (0.09, 0.22, 0.3, 0.38, 0.56, 0.85):
        world = StandIn(RATE, noise)
        z = prior(rng, 48 * 300)
        dear, cheap = world.dear(z)[0], world.cheap(z)
        top = dear >= np.quantile(dear, 0.8)
        found = [gate(c, d) for c, d in zip(cheap.reshape(-1, 48), dear.reshape(-1, 48), strict=True)]
        near = np.array([one.top_fifth or 0.0 for one in found])
        low, high = np.quantile(near, (0.05, 0.95))
        rows.append([
            f"{spearmanr(cheap, dear).statistic:.2f}", f"{spearmanr(cheap[top], dear[top]).statistic:.2f}",
            f"{low:.2f} to {high:.2f}", f"{np.mean([one.passes for one in found]):.0%}",
            cell(Arm(world, 20, 16), runs),
        ])  # fmt: skip
    head = ["correlation", "top fifth", "top fifth of 48 scenes (90 %)", "passes", "16 inner steps, ratio 20"]
    return table(head, rows)


def ideas_table(runs: int) -> Iterator[str]:
    """Two moves made of a bank, beside surrogate transitions that start from the same bank."""
    rows = []
    for unit, rate in ((1.5, "1.3e-3"), (1.8, "1.4e-4")):
        for bank in (500, 2_000):
            arms = [
                Arm(StandIn(unit, NOISES[0.8]), 20, 16, bank=bank, idea=i)
                for i in ("", "transplant", "exchange")
            ]
            rows.append([rate, f"{bank:,}", *(cell(arm, runs) for arm in arms)])
    return table(["rate", "bank", "surrogate transitions", "+ transplants", "+ exchange with the bank"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--write", action="store_true", help="renew the part of benchmarks/KERNELS.md")
    given = parser.parse_args()
    command = f"`python -m benchmarks.surrogate_simulation --runs {given.runs} --write`"
    lines = [MARK, "", command, "", words.INTRODUCTION]
    parts = (main_table, flattening_table, gate_table, ideas_table)
    readings = (words.STEPS, words.FLATTENING, words.GATE, words.IDEAS)
    for part, reading in zip(parts, readings, strict=True):
        found = [*part(given.runs), "", reading]
        print("\n".join(found), flush=True)
        lines += found
    if given.write:
        path = Path(__file__).with_name("KERNELS.md")
        path.write_text(path.read_text().partition(MARK)[0].rstrip() + "\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
