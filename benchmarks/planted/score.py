"""The score: which faults an entrant's claims name, judged on scenes that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.planted.answerer import Answerer
from benchmarks.planted.claims import (
    Claim,
    Part,
    Slice,
    anywhere,
    claim_of,
    in_questions,
    in_scenes,
    units,
)
from benchmarks.planted.faults import Fault
from benchmarks.planted.referee import Shown
from benchmarks.planted.targets import recolored
from benchmarks.planted.world import Known, Pool, Table, known_of, table_of
from trex.scenes.conditions import Bools
from trex.scenes.graph import Facts
from trex.scenes.scene import ATTRIBUTES, with_attribute

PRECISE, COMPLETE = 0.8, 0.5
ENOUGH = 30  # scenes in a region or under a claim, below which further ones are made
MOST = 120  # that are made
LOOKED_AT = 2000  # scenes whose pictures judge a slice
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cases:
    """Scenes (or questions) that stand for those of the prior in which something holds, with weights."""

    known: Sequence[Known]
    table: Table
    weights: Floats


@dataclass(frozen=True)
class Truth:
    """A target on the pool's scenes: the regions of its faults, and where each fires."""

    answerer: Answerer
    pool: Pool
    regions: tuple[Bools, ...]  # per fault: of scenes, or of questions

    def active(self, fault: Fault, known: Sequence[Known], table: Table) -> Bools:
        """(scenes,), or (questions,) for a fault of questions: where the fault's region is."""
        return active(self.answerer, fault, known, table)


def truth_of(answerer: Answerer, pool: Pool) -> Truth:
    """The regions of a target's faults in the pool."""
    regions = tuple(active(answerer, fault, pool.known, pool.table) for fault in answerer.target.faults)
    return Truth(answerer, pool, regions)


def active(answerer: Answerer, fault: Fault, known: Sequence[Known], table: Table) -> Bools:
    """(scenes,), or (questions,) for a fault of questions: the fault's region; a network's is what it misreads."""
    if answerer.network is not None:
        return np.array([answerer.fires(fault, each) for each in known], dtype=np.bool_)
    rows = fault.region(table, list(known))
    return rows if fault.of_question else anywhere(rows, table.object_of, len(table))


@dataclass(frozen=True)
class Judged:
    """A claim against the fault that it fits best."""

    fault: int
    precision: float
    recall: float

    @property
    def finds(self) -> bool:
        """Whether it counts as having found the fault."""
        return self.precision >= PRECISE and self.recall >= COMPLETE


def score(claims: Sequence[Claim | Slice], truth: Truth) -> dict[str, object]:
    """What one run is worth; plain numbers, for JSON."""
    faults = truth.answerer.target.faults
    regions = [region_cases(truth, k) for k in range(len(faults))]
    rows, found = [], set[int]()
    for claim in claims:
        fits = [
            _slice_judged(claim, k, regions[k], truth)
            if isinstance(claim, Slice)
            else _judged(claim, k, regions[k], truth)
            for k in range(len(faults))
        ]
        best = max(fits, key=lambda fit: (fit.finds, fit.precision * fit.recall), default=None)
        found |= {fit.fault for fit in fits if fit.finds}
        stated: dict[str, object] = {}
        parts: tuple[Part, ...] = ()
        if isinstance(claim, Claim):
            parts = claim.parts
            stated = _rate_row(claim, truth) if claim.rate is not None and not claim.of_question else {}
        rows.append(
            {
                "words": claim.words,
                "parts": [[part.subject, part.literals, part.exists] for part in parts],
                "fault": best.fault if best else None,
                "precision": round(best.precision, 4) if best else 0.0,
                "recall": round(best.recall, 4) if best else 0.0,
                **stated,
            }
        )
    return {
        "faults": [
            {
                "words": fault.words,
                "rate": round(fault.rate, 6),
                "active": round(float(truth.regions[k].mean()), 6),
                "found": k in found,
            }
            for k, fault in enumerate(faults)
        ],
        "found": len(found),
        "of": len(faults),
        "sentences": len(claims),
        "false_families": 0 if faults else len(claims),
        "claims": rows,
    }


def nameable(truth: Truth) -> list[bool]:
    """Which faults their own conditions find: not those outside of the vocabulary or learned otherwise."""
    faults = truth.answerer.target.faults
    claims = [claim_of(fault.conditions, fault.words) for fault in faults]
    return [_judged(claim, k, region_cases(truth, k), truth).finds for k, claim in enumerate(claims)]


def region_cases(truth: Truth, number: int) -> Cases:
    """Scenes of a fault's region: those of the pool and, if they are few, recolored ones."""
    fault, pool = truth.answerer.target.faults[number], truth.pool
    if fault.of_question:
        return Cases(pool.known, pool.table, truth.regions[number].astype(np.float64))
    at = np.flatnonzero(truth.regions[number])
    if len(at) < ENOUGH and truth.answerer.network is None and recolored(fault.keys)[0]:
        own = Part("object", tuple((each.key, True) for each in fault.conditions if each.part != "scene"))
        made = recolored_cases(own, pool, fault.around)
        counts = [int(fault.objects(each.facts).sum()) for each in made]
        kept = [(each, 1.0 / n) for each, n in zip(made, counts, strict=True) if n][:MOST]
        if len(kept) > len(at):
            scenes = [each for each, _ in kept]
            return Cases(scenes, table_of(scenes), np.array([weight for _, weight in kept]))
    return _of_pool(pool, at)


def recolored_cases(own: Part, pool: Pool, around: Part | None = None) -> list[Known]:
    """Pool scenes with one object recolored so that it meets the conditions: one for each object that then does.

    Each object is as likely to be of any color and material whatever else is true of the scene, so these scenes, each
    weighted by one over its number of such objects, are those of the prior that have one.
    """
    free, _ = recolored(tuple(key for key, sign in own.literals if sign))
    wider = replace(own, literals=tuple(each for each in own.literals if each[0] not in free))
    met = units(wider, pool.table)
    if around is not None:
        met = met & units(around, pool.table)[pool.table.object_of]
    first = np.searchsorted(pool.table.object_of, np.arange(len(pool.table)))
    found = []
    for row in np.flatnonzero(met)[: 8 * MOST]:
        at = int(pool.table.object_of[row])
        facts = pool.known[at].facts
        index = int(row - first[at])
        items = list(facts.scene.objects)
        for key, name in free.items():
            items[index] = with_attribute(items[index], name, key.split()[1])
        changed = Facts(
            replace(facts.scene, objects=tuple(items)), facts.shares, facts.hiders, facts.touching
        )
        found.append(known_of(changed, np.random.default_rng([7, int(row)])))
    return found


def claim_cases(claim: Claim, pool: Pool) -> Cases:
    """Scenes under a claim: those of the pool and, if they are few, recolored ones."""
    holds = in_scenes(claim, pool.table)
    at = np.flatnonzero(holds)
    own = [part for part in claim.parts if part.subject == "object" and part.exists]
    if (
        len(at) < ENOUGH
        and len(own) == 1
        and all(sign or key.split()[0] in ATTRIBUTES for key, sign in own[0].literals)
    ):
        made = recolored_cases(own[0], pool)[: 2 * MOST]
        table = table_of(made)
        holds = in_scenes(claim, table)
        n = np.bincount(table.object_of[units(own[0], table)], minlength=len(made))
        weights = np.where(holds & (n > 0), 1.0 / np.maximum(1, n), 0.0)
        if int((weights > 0).sum()) > len(at):
            return Cases(made, table, weights)
    return _of_pool(pool, at)


def _of_pool(pool: Pool, at: NDArray[np.int64]) -> Cases:
    """Some of the pool's scenes, at most 4 * MOST of them."""
    chosen = at[: 4 * MOST]
    return Cases([pool.known[k] for k in chosen], pool.table.of(chosen), np.ones(len(chosen)))


def _judged(claim: Claim, number: int, region: Cases, truth: Truth) -> Judged:
    fault = truth.answerer.target.faults[number]
    claim = _could_show(claim, fault)
    if fault.of_question:
        holds, there = in_questions(claim, truth.pool.table), truth.regions[number]
        both = int((holds & there).sum())
        return Judged(number, both / max(1, int(holds.sum())), both / max(1, int(there.sum())))
    recall = _share(in_scenes(claim, region.table), region.weights)
    if recall < COMPLETE:
        holds = in_scenes(claim, truth.pool.table)
        return Judged(number, _share(truth.regions[number][holds], np.ones(int(holds.sum()))), recall)
    cases = claim_cases(claim, truth.pool)
    return Judged(number, _share(truth.active(fault, cases.known, cases.table), cases.weights), recall)


def _slice_judged(claim: Slice, number: int, region: Cases, truth: Truth) -> Judged:
    """A slice on pictures of the fault's region, and on those of the pool's first LOOKED_AT scenes.

    A fault of a kind of question is in no picture.
    """
    fault, pool = truth.answerer.target.faults[number], truth.pool
    if fault.of_question or not region.known:
        return Judged(number, 0.0, 0.0)
    recall = _share(claim.holds(pictures_of(region.known[:MOST])), region.weights[:MOST])
    at = np.flatnonzero(claim.holds(pictures_of(pool.known[:LOOKED_AT])))
    return Judged(number, _share(truth.regions[number][at], np.ones(len(at))), recall)


def pictures_of(known: Sequence[Known]) -> NDArray[np.uint8]:
    """(n, 80, 120, 3): what the pixel track sees of these scenes."""
    return np.stack([Shown(each.facts).pixels for each in known])


def _could_show(claim: Claim, fault: Fault) -> Claim:
    """A claim about one object, of those that are not already what the fault takes them for: nobody has to say that."""
    mine = [part for part in claim.parts if part.subject == "object"]
    says = {key.split()[0] for part in mine for key, _ in part.literals}
    if len(mine) != 1 or not mine[0].exists or fault.shows not in ATTRIBUTES or fault.shows in says:
        return claim
    (own,) = mine
    wider = replace(own, literals=(*own.literals, (f"{fault.shows} {fault.value}", False)))
    return replace(claim, parts=tuple(wider if part is own else part for part in claim.parts))


def _share(holds: Bools, weights: Floats) -> float:
    total = float(weights.sum())
    return float(weights[holds].sum()) / total if total > 0 else 0.0


def _rate_row(claim: Claim, truth: Truth) -> dict[str, object]:
    """The stated interval, and the share of prior scenes under the claim in which a fault fires."""
    answerer, pool = truth.answerer, truth.pool
    faults = [fault for fault in answerer.target.faults if not fault.of_question]
    at = np.flatnonzero(in_scenes(claim, pool.table))
    n = sum(any(answerer.fires(fault, pool.known[k]) for fault in faults) for k in at)
    low, high = claim.rate or (0.0, 1.0)
    rate, spread = n / len(pool.table), 2.6 * np.sqrt(max(1, n)) / len(pool.table)
    return {
        "rate": [round(low, 6), round(high, 6)],
        "true_rate": round(rate, 6),
        "covers": bool(low <= rate + spread and rate - spread <= high),
    }
