"""Step 4: the model is tuned on each scenario's pictures, with every control, and all are judged by the same tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from trex.artifacts.weights import write_safetensors
from trex.foundation.progress import Progress
from trex.repair.domain import Bench, Plan, Right
from trex.repair.files import Array, flags, ints, read_arrays, write_arrays
from trex.repair.folder import PARTS
from trex.repair.results import (
    BEFORE,
    SWEEP,
    ZERO,
    Compared,
    CorrectResult,
    Tuned,
    compared,
)
from trex.repair.settings import SceneQuery
from trex.repair.steps import Folder, domain_of
from trex.repair.weights import PREFIX, state_of, stored

EPOCH = "epoch"  # in a model's part


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
        result = _tuned(folder, open_bench(progress), place, progress, result)
    folder.finish("correct", result)


def correct_and_measure(folder: Folder, loaded: object, progress: Progress) -> None:
    """Carry out the correction, and what a domain measures after it."""
    correct(folder, loaded, progress)
    measure = domain_of(folder.query).measure
    if measure is not None:
        measure(folder, loaded, progress)


def _tuned(
    folder: Folder, bench: Bench, place: Path, progress: Progress, empty: CorrectResult
) -> CorrectResult:
    """Every model of every seed tuned and judged, each in a part of its own until the step is finished."""
    wanted, before = folder.query.correct, bench.before()
    total = wanted.seeds * (len(wanted.lambdas) + len(bench.plan.controls))
    tuned: list[Tuned] = []
    chosen: list[float | None] = []
    rows: list[Compared] = []

    def carry_out(kind: str, weight: float) -> Right:
        progress("models tuned", len(tuned), total)
        path = _part(place, seed, kind, weight)
        if not path.exists():
            network, epoch = bench.tuned(kind, weight, seed, path.with_name(f"{kind}-{seed}-{weight!r}"))
            arrays: dict[str, Array] = {**bench.right(network), **stored(network)}
            write_arrays(path, arrays if epoch is None else {**arrays, EPOCH: np.array([epoch])})
        right, epoch = _read(path)
        tuned.append(Tuned(seed=seed, kind=kind, weight=weight, right=_counts(right), epoch=epoch))
        return right

    for seed in range(wanted.seeds):
        sweep = {weight: carry_out(SWEEP, weight) for weight in wanted.lambdas}
        best = choose(bench.plan, tuned[-len(sweep) :], wanted.loss)
        chosen.append(best)
        if best is None:
            continue
        controls = {kind: carry_out(kind, best) for kind in bench.plan.controls}
        _keep(folder, bench, place, empty, seed, best)
        rows += comparisons(seed, sweep[best], {BEFORE: before, ZERO: sweep[0.0], **controls}, bench)
    progress("models tuned", total, total)
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


def _part(place: Path, seed: int, kind: str, weight: float) -> Path:
    return place / PARTS / f"{kind}-{seed}-{weight!r}.model.safetensors"


def _keep(folder: Folder, bench: Bench, place: Path, found: CorrectResult, seed: int, weight: float) -> None:
    """Write the chosen weights of a seed with their card."""
    path = _part(place, seed, SWEEP, weight)
    right, epoch = _read(path)
    counts = _counts(right)
    card = {
        **bench.card(),
        "settings": folder.query.model_dump(mode="json"),
        "seed": seed,
        "lambda": weight,
        "scenarios": [each.model_dump() for each in found.corrected],
        "right": {name: list(counts[name]) for name in found.rules.tests},
    }
    if epoch is not None:
        card[EPOCH] = epoch
    write_safetensors(place / f"model-{seed}.safetensors", state_of(read_arrays(path)), card)


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


def _read(path: Path) -> tuple[Right, int | None]:
    """What a tuned model has right of each test, and the epoch whose weights it has, if one was chosen."""
    found = read_arrays(path)
    epoch = int(ints(found.pop(EPOCH))[0]) if EPOCH in found else None
    return {name: flags(array) for name, array in found.items() if not name.startswith(PREFIX)}, epoch


def _counts(right: Right) -> dict[str, tuple[int, int]]:
    return {name: (int(each.sum()), len(each)) for name, each in right.items()}
