"""Step 4: the model is tuned on each scenario's pictures, with every control, and all are judged by the same tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from trex.artifacts.weights import write_safetensors
from trex.foundation.progress import Progress
from trex.repair.domain import Bench, Plan, Right, domain_of
from trex.repair.files import Array, flags, ints, read_arrays, write_arrays
from trex.repair.folder import PARTS
from trex.repair.results import (
    BEFORE,
    RULES,
    SWEEP,
    ZERO,
    Compared,
    CorrectResult,
    Rules,
    Scenario,
    Tuned,
    compared,
)
from trex.repair.settings import SceneQuery
from trex.repair.steps import Folder
from trex.repair.weights import PREFIX, state_of, stored

EPOCH = "epoch"  # in a model's part


class Model(NamedTuple):
    """A tuned model: what it has right of each test, and the epoch whose weights it has, if one was chosen."""

    right: Right
    epoch: int | None


def correct(folder: Folder, loaded: object, progress: Progress) -> None:
    """Carry out the step, or resume it; without a scenario that is pure enough nothing is tuned.

    InputError, before anything is rendered or written, for settings with which the model cannot be tuned.
    """
    folder.require("label")
    scenarios, impure, open_bench = domain_of(folder.query).tune(folder, loaded)
    place = folder.begin("correct")
    if place is None:
        return
    kind: Literal["decoders", "scenes"] = "scenes" if isinstance(folder.query, SceneQuery) else "decoders"
    result = CorrectResult(
        domain=kind,
        corrected=scenarios,
        impure=impure,
        before=None,
        tuned=[],
        chosen=[],
        compared=[],
    )
    if scenarios:
        bench = open_bench(progress)
        result = Correction(folder, bench, RULES[kind], scenarios, place, progress).all(result)
    folder.finish("correct", result)


def correct_and_measure(folder: Folder, loaded: object, progress: Progress) -> None:
    """Carry out the correction, and what a domain measures after it."""
    correct(folder, loaded, progress)
    measure = domain_of(folder.query).measure
    if measure is not None:
        measure(folder, loaded, progress)


@dataclass(frozen=True, eq=False)
class Correction:
    """Every model of every seed, each in a part of its own until the step is finished."""

    folder: Folder
    bench: Bench
    rules: Rules
    scenarios: list[Scenario]
    place: Path
    progress: Progress

    def all(self, empty: CorrectResult) -> CorrectResult:
        """Tunes and judges them."""
        wanted, bench = self.folder.query.correct, self.bench
        before = bench.before()
        total = wanted.seeds * (len(wanted.lambdas) + len(bench.plan.controls))
        tuned: list[Tuned] = []
        chosen: list[float | None] = []
        rows: list[Compared] = []

        def carry_out(kind: str, weight: float) -> Right:
            self.progress("models tuned", len(tuned), total)
            model = self._model(seed, kind, weight)
            counts = _counts(model.right)
            tuned.append(Tuned(seed=seed, kind=kind, weight=weight, right=counts, epoch=model.epoch))
            return model.right

        for seed in range(wanted.seeds):
            sweep = {weight: carry_out(SWEEP, weight) for weight in wanted.lambdas}
            best = choose(bench.plan, tuned[-len(sweep) :], wanted.loss)
            chosen.append(best)
            if best is None:
                continue
            controls = {kind: carry_out(kind, best) for kind in bench.plan.controls}
            self._keep(seed, best)
            rows += comparisons(seed, sweep[best], {BEFORE: before, ZERO: sweep[0.0], **controls}, bench)
        self.progress("models tuned", total, total)
        return empty.model_copy(
            update={
                "before": Tuned(seed=0, kind=BEFORE, weight=0.0, right=_counts(before)),
                "tuned": tuned,
                "chosen": chosen,
                "compared": rows,
                "has_singles": "single" in bench.plan.controls,
                "epochs": wanted.epochs,
                "epoch_by": bench.plan.epoch_by,
            }
        )

    def _model(self, seed: int, kind: str, weight: float) -> Model:
        """The tuned model as its weights are stored."""
        stem = self.place / PARTS / f"{kind}-{seed}-{weight!r}"
        path = self._part(seed, kind, weight)
        if not path.exists():
            network, epoch = self.bench.tuned(kind, weight, seed, stem)
            arrays: dict[str, Array] = {**self.bench.right(network), **stored(network)}
            write_arrays(path, arrays if epoch is None else {**arrays, EPOCH: np.array([epoch])})
        return _read(path)

    def _part(self, seed: int, kind: str, weight: float) -> Path:
        return self.place / PARTS / f"{kind}-{seed}-{weight!r}.model.safetensors"

    def _keep(self, seed: int, weight: float) -> None:
        """Write the chosen weights of a seed with their card."""
        path = self._part(seed, SWEEP, weight)
        model, counts = _read(path), _counts(_read(path).right)
        card = {
            **self.bench.card(),
            "settings": self.folder.query.model_dump(mode="json"),
            "seed": seed,
            "lambda": weight,
            "scenarios": [each.model_dump() for each in self.scenarios],
            "right": {name: list(counts[name]) for name in self.rules.tests},
        }
        if model.epoch is not None:
            card[EPOCH] = model.epoch
        write_safetensors(self.place / f"model-{seed}.safetensors", state_of(read_arrays(path)), card)


def choose(plan: Plan, sweep: list[Tuned], loss: float) -> float | None:
    """The weight of a seed's sweep that is used: the smallest of the best on pictures that neither tune nor test.

    None if every one costs more than `loss` against weight 0, which has had the same further training (the model itself
    may have learned the pictures that bound the cost).
    """
    usable = [each for each in sweep if each.weight > 0]
    if plan.bound_by is not None:
        zero = next(each for each in sweep if each.weight == 0.0)
        floor = zero.accuracy(plan.bound_by).value - loss
        usable = [each for each in usable if each.accuracy(plan.bound_by).value >= floor]
    best = max(usable, key=lambda each: (each.accuracy(plan.choose_by).value, -each.weight), default=None)
    return None if best is None else best.weight


def comparisons(seed: int, chosen: Right, others: Mapping[str, Right], bench: Bench) -> Iterator[Compared]:
    """The chosen model against each other one, on every test that has pictures."""
    for against, other in others.items():
        for test in bench.plan.compared:
            if len(chosen[test]):
                yield compared(seed, against, test, (chosen[test], other[test]), bench.clusters(test))


def _read(path: Path) -> Model:
    found = read_arrays(path)
    epoch = int(ints(found.pop(EPOCH))[0]) if EPOCH in found else None
    return Model({name: flags(array) for name, array in found.items() if not name.startswith(PREFIX)}, epoch)


def _counts(right: Right) -> dict[str, tuple[int, int]]:
    return {name: (int(each.sum()), len(each)) for name, each in right.items()}
