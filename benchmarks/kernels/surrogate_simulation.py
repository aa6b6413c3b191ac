"""Surrogate transitions on the stand-in world at equal cost: inner steps, cost ratio, correlation; and two ideas.

    python -m benchmarks.kernels.surrogate_simulation [--runs 40] [--write]

The budget counts renders at the deciding look, all chains together; a cheap render costs 1 / ratio of one. --write
renews the part of benchmarks/kernels/KERNELS.md below MARK.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks.kernels import surrogate_words as words
from benchmarks.kernels.bank_moves import Arm, Bank
from benchmarks.kernels.stand_in_world import (
    Floats,
    StandIn,
    block_moves,
    families,
    is_valid,
    prior,
)  # fmt: skip

MARK = "## Surrogate transitions on a stand-in world"
PRIOR_SCENES, SEED = 200, 5
NOISES = {
    0.95: 0.09,
    0.8: 0.22,
    0.5: 0.56,
}  # the rank correlation of log weights, and the error that gives it
RATE = 1.5  # the unit of a level set with a rate of 1.3e-3


def tempered_starts(rng: np.random.Generator, arm: Arm, runs: int) -> Floats:
    """As `trex.inference.chains.starts`, from prior scenes at the deciding look."""
    from trex.inference.chains import tempering_power

    found = []
    for _ in range(runs):
        z = prior(rng, PRIOR_SCENES)
        log_weights = arm.world.dear(z)[0]
        power = tempering_power(log_weights, 2.0 * arm.chains)
        found.append(z[np.argsort(-(power * log_weights + rng.gumbel(size=PRIOR_SCENES)))[: arm.chains]])
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
    z = bank.starts(arm) if bank else tempered_starts(rng, arm, runs)
    (dear, hit), leads = arm.world.dear(z), arm.lead(z)
    spent, seen = np.full(len(z), 40.0 / arm.chains if bank else 0.0), hit.copy()
    kept: list[list[Floats]] = [
        list(part[h]) for part, h in zip(_split(z, arm), _split(hit, arm), strict=True)
    ]
    while (live := spent < arm.budget / arm.chains).any():
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
            kept[i // arm.chains].append(z[i])
    distinct = [np.unique(np.array(part), axis=0) if part else np.empty((0, 6, 5)) for part in kept]
    groups = np.array([families(part) if len(part) else 0 for part in distinct], float)
    return np.array([len(part) for part in distinct], float), seen.reshape(-1, arm.chains).sum(1), groups


def _split(values: np.ndarray, arm: Arm) -> np.ndarray:  # type: ignore[type-arg]
    return values.reshape(-1, arm.chains, *values.shape[1:])


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


def chains_table(runs: int) -> Iterator[str]:
    """Chains and inner steps at small budgets, from a bank of 1,000; cost ratio 34, correlation .8."""
    world, rows = StandIn(RATE, NOISES[0.8]), []
    for budget in (100, 200, 400):
        for chains in (2, 4, 8, 16):
            block = cell(Arm(world, chains=chains, budget=budget), runs)
            led = [
                cell(Arm(world, 34, k, bank=1_000, chains=chains, budget=budget), runs) for k in (4, 8, 16)
            ]
            rows.append([str(budget), str(chains), block, *led])
    return table(
        ["budget", "chains", "block, no bank", "4 inner steps", "8 inner steps", "16 inner steps"], rows
    )


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
    head = ["correlation", "top fifth", "top fifth of 48 scenes (90%)", "passes", "16 inner steps, ratio 20"]
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
    parser.add_argument(
        "--write", action="store_true", help="renew the part of benchmarks/kernels/KERNELS.md"
    )
    given = parser.parse_args()
    command = f"`python -m benchmarks.kernels.surrogate_simulation --runs {given.runs} --write`"
    lines = [MARK, "", command, "", words.INTRODUCTION]
    parts = (main_table, chains_table, flattening_table, gate_table, ideas_table)
    readings = (words.STEPS, words.CHAINS, words.FLATTENING, words.GATE, words.IDEAS)
    for part, reading in zip(parts, readings, strict=True):
        found = [*part(given.runs), "", reading]
        print("\n".join(found), flush=True)
        lines += found
    if given.write:
        path = Path(__file__).with_name("KERNELS.md")
        path.write_text(path.read_text().partition(MARK)[0].rstrip() + "\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
