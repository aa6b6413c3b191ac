"""The benchmark's targets: drawn by a seed, with faults whose rates are measured on prior scenes.

12 are public (seed 0); 36 more follow from a seed that their organizer keeps to himself.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from benchmarks.planted.claims import KEYED, units
from benchmarks.planted.faults import (
    ANSWER,
    MISSED,
    OUTSIDE,
    Fault,
    Outside,
    Target,
    expected_in_scenes,
    per_question,
)
from benchmarks.planted.world import OF_OBJECT, OF_QUESTION, OF_SCENE, Pool
from trex.scenes.conditions import Condition
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.vocabulary import CLEVR

PUBLIC, HIDDEN = 12, 36
PUBLIC_SEED = 0
FACTOR = math.sqrt(10)  # a band reaches from its middle by this factor
BANDS = (1e-1, 1e-2, 1e-3, 1e-4)
KINDS = ("attribute", "occlusion", "relation", "nuisance", "question", "outside")
FAULTS_OF_TARGET = (1, 1, 2, 1, 3, 1, 5, 1)
WEAK = 0.3  # share in which a fault fires that is not deterministic
NOISY = 0.03
MATTERS = 1.5  # without any one condition, the region is at least so much larger
TRIES = 20_000
LEAST_TRAINED = 3e-3  # rate; a network cannot be taught what it never sees
FREE = ("color", "material")  # attributes that nothing else in a scene depends on


def targets(seed: int, n: int, pool: Pool) -> list[Target]:
    """n targets: in each dozen two without a fault, two with failures that have no pattern, four trained."""
    rng = np.random.default_rng([45, seed])
    maker = _Maker(pool, rng)
    found = []
    for number in range(n):
        name, place = f"{'public' if seed == PUBLIC_SEED else 'hidden'}-{number:02d}", number % 12
        own = int(rng.integers(1 << 31))
        if place in (4, 10):
            found.append(Target(name, seed=own))
        elif place in (5, 11):
            noise, wording = (NOISY, 0.0) if place == 5 else (0.0, NOISY)
            found.append(Target(name, noise=noise, wording=wording, seed=own))
        else:
            at = (place if place < 4 else place - 2) + 8 * (number // 12)
            found.append(Target(name, maker.faults(at), trained=at % 2 == 1, seed=own))
    return found


def measured(fault: Fault, pool: Pool) -> float:
    """The share of prior scenes (questions) in the fault's region.

    As colors and materials are independent of all else, a fault that names its object's is counted with each object
    recolored so, if its other conditions allow that.
    """
    table, known = pool.table, pool.known
    if fault.of_question:
        return per_question(int(fault.region(table, known).sum()), len(table))
    free, share = recolored(fault.keys)
    if not free:
        return len(np.unique(table.object_of[fault.region(table, known)])) / len(table)
    wider = Fault(
        tuple(key for key in fault.keys if key not in free), fault.shows, fault.value, 1.0, fault.outside
    )
    could = wider.region(table, known) if fault.shows not in free.values() else _own_region(wider, pool)
    return expected_in_scenes(float(could.sum()) * share / len(table))


def recolored(keys: tuple[str, ...]) -> tuple[dict[str, str], float]:
    """Its conditions on color and material, and the share of objects that meet them; none if another one needs them."""
    if any("same color" in key or "same material" in key or "of its color" in key for key in keys):
        return {}, 1.0
    free = {key: key.split()[0] for key in keys if key.split()[0] in FREE and ("object", key) in KEYED}
    share = math.prod(1.0 / len(CLEVR.available(name)) for name in free.values())
    return free, share


def _own_region(wider: Fault, pool: Pool) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The objects under the conditions, whatever they are taken for."""
    return Fault(wider.keys, MISSED, "", 1.0, wider.outside).region(pool.table, pool.known)


class _Maker:
    """Draws faults of a kind and a band of rates."""

    def __init__(self, pool: Pool, rng: np.random.Generator) -> None:
        self.pool, self.rng = pool, rng

    def faults(self, at: int) -> tuple[Fault, ...]:
        """The faults of the at-th target with any; no two of them are taken for the same."""
        is_trained = at % 2 == 1
        found: list[Fault] = []
        for k in range(FAULTS_OF_TARGET[at % len(FAULTS_OF_TARGET)]):
            kind = KINDS[(at + k) % len(KINDS)]
            if is_trained and kind == "question":
                kind = "attribute"
            band = BANDS[(at // 2 + k) % (2 if is_trained else len(BANDS))]
            taken = {(fault.shows, fault.value) for fault in found}
            fires = WEAK if at % 4 == 2 and k == 0 else 1.0
            found.append(self._fault(kind, band, fires, taken, is_trained))
        return tuple(found)

    def _fault(
        self, kind: str, band: float, fires: float, taken: set[tuple[str, str]], trained: bool
    ) -> Fault:
        low, high = band / FACTOR, min(0.3, band * FACTOR)
        for _ in range(TRIES):
            fault = self._drawn(kind, fires, band)
            if f"{fault.shows} {fault.value}" in fault.keys:
                continue  # it is what it would be taken for
            if (fault.shows, fault.value) in taken and not fault.of_question:
                continue
            rate = self._quick(fault)
            if (
                low <= rate <= high
                and (not trained or rate >= LEAST_TRAINED)
                and self._all_matter(fault, rate)
            ):
                exact = measured(fault, self.pool)
                if low <= exact <= high:
                    return Fault(fault.keys, fault.shows, fault.value, fires, fault.outside, exact)
        raise ValueError(f"no {kind} fault at rate {band:g} in {TRIES:,} draws; use a larger pool")

    def _quick(self, fault: Fault) -> float:
        """The rate, but for objects that are already what they are taken for."""
        table = self.pool.table
        free, share = ({}, 1.0) if fault.of_question else recolored(fault.keys)
        keys = tuple(key for key in fault.keys if key not in free)
        bare = Fault(keys, fault.shows, fault.value)
        of = table.question_of if fault.of_question else table.object_of
        met = units(bare.own, table) & units(bare.around, table)[of]
        if met.sum() < 5:
            return 0.0
        if fault.of_question:
            return per_question(int(met.sum()), len(table))
        beyond = 0.1 if fault.outside is not None else 1.0
        return expected_in_scenes(float(met.sum()) * share / len(table) * beyond)

    def _all_matter(self, fault: Fault, rate: float) -> bool:
        if len(fault.keys) < 2:
            return True
        fewer = (
            Fault(
                tuple(key for key in fault.keys if key != each), fault.shows, fault.value, 1.0, fault.outside
            )
            for each in fault.keys
        )
        return all(self._quick(each) >= MATTERS * rate for each in fewer)

    def _drawn(self, kind: str, fires: float, band: float) -> Fault:
        rng = self.rng
        most = 2 if band > 1e-2 else 4
        n = int(rng.integers(1, most + 1))
        if kind == "question":
            first = [_picked(rng, OF_QUESTION, lambda each: each.key.startswith("asks"))]
            others = [_picked(rng, (*OF_QUESTION, *OF_SCENE), _not_asks) for _ in range(n - 1)]
            return Fault(_unique([*first, *others]), ANSWER, "", fires)
        chosen = [_picked(rng, _of_kind(kind), lambda each: True)] if kind != "outside" else []
        more = [
            _picked(rng, OF_OBJECT, lambda each: each.part == "noun" or (band <= 1e-2 and rng.random() < 0.3))
            for _ in range(n - len(chosen))
        ]
        keys = _unique(_one_of_each([*chosen, *more]))
        shows, value = self._symptom()
        return Fault(keys, shows, value, fires, self._outside() if kind == "outside" else None)

    def _symptom(self) -> tuple[str, str]:
        rng = self.rng
        shows = str(rng.choice([*ATTRIBUTES, "shape", MISSED]))
        return shows, "" if shows == MISSED else str(rng.choice(list(CLEVR.available(shows))))

    def _outside(self) -> Outside:
        """A tenth of the objects."""
        name = str(self.rng.choice(list(OUTSIDE)))
        numbers = np.sort(
            [
                OUTSIDE[name](each.scene, i)
                for each in self.pool.known[:250]
                for i in range(len(each.scene.objects))
            ]
        )
        low = float(self.rng.uniform(0.0, 0.9))
        return Outside(
            name, round(float(np.quantile(numbers, low)), 3), round(float(np.quantile(numbers, low + 0.1)), 3)
        )


def _of_kind(kind: str) -> tuple[Condition, ...]:
    if kind == "nuisance":
        return tuple(each for each in OF_SCENE if not each.key.startswith("objects"))
    parts = {"attribute": ("noun",), "occlusion": ("seen",), "relation": ("where",)}[kind]
    return tuple(each for each in OF_OBJECT if each.part in parts)


def _not_asks(condition: Condition) -> bool:
    return not condition.key.startswith("asks")


def _picked(
    rng: np.random.Generator, conditions: tuple[Condition, ...], fits: Callable[[Condition], bool]
) -> Condition:
    fitting = [each for each in conditions if fits(each)]
    return fitting[int(rng.integers(len(fitting)))]


def _one_of_each(conditions: list[Condition]) -> list[Condition]:
    """One value of an attribute at most."""
    nouns: dict[str, Condition] = {}
    for each in conditions:
        nouns.setdefault(each.key.split()[0] if each.part == "noun" else each.key, each)
    return list(nouns.values())


def _unique(conditions: list[Condition]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.key for each in conditions))
