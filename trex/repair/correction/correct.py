"""Fine-tunes the model on each scenario's pictures, with every control, and judges all of it by the same four tests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from trex.artifacts.weights import write_safetensors
from trex.foundation.errors import InputError
from trex.inference.statistics.clustered import paired_difference
from trex.inference.statistics.paired import paired
from trex.mnist_models.pictures import planes
from trex.mnist_models.training.classifiers import Extra, fine_tune_training
from trex.mnist_models.training.loop import Settings, fit
from trex.repair import loaded as streams
from trex.repair.arrays import Array, Flags, flags, ints, read_arrays, write_arrays
from trex.repair.correction.epochs import Epochs, load_stored, state_of, stored
from trex.repair.correction.results import (
    BEFORE,
    CHOOSE,
    CONTROLS,
    FIRST_HALF,
    SECOND_HALF,
    SINGLE,
    SWEEP,
    TEST,
    TESTS,
    TRAINING,
    VALIDATION,
    ZERO,
    Compared,
    Corrected,
    CorrectResult,
    Tuned,
)
from trex.repair.correction.sets import Set, Sources, sources
from trex.repair.folder import PARTS, RepairFolder
from trex.repair.label import RESULT as LABELS
from trex.repair.label import LabelResult
from trex.repair.loaded import Loaded, Progress, answers, validation_rows
from trex.repair.records import read_record, write_record

RESULT = "correct.json"
Right = Mapping[str, Flags]
EPOCH = "epoch"  # of a model's part: the one whose weights it has


@dataclass(frozen=True)
class _Model:
    """A tuned model: which pictures of each set it answers rightly, and the epoch whose weights it has."""

    right: Right
    epoch: int


def correct(folder: RepairFolder, loaded: Loaded, progress: Progress) -> None:
    """Carry out the step, or resume it; without a scenario that is pure enough nothing is tuned."""
    wanted = folder.query.correct
    found = read_record(LabelResult, folder.require("label") / LABELS)
    corrected = tuple(
        Corrected(number=one.number, label=one.label)
        for one in found.scenarios
        if one.purity.value >= wanted.purity
    )
    impure = [one.number for one in found.scenarios if one.purity.value < wanted.purity]
    learning, _ = validation_rows(folder.query, loaded.train)
    usable = min(wanted.training or len(learning), len(learning))
    if wanted.batch > usable:
        raise InputError(
            f"correct.batch = {wanted.batch} is more than the {usable} training pictures; take fewer"
        )
    place = folder.begin("correct")
    if place is None:
        return
    result = CorrectResult(
        corrected=list(corrected),
        impure=impure,
        before=None,
        tuned=[],
        chosen=[],
        compared=[],
        has_singles=False,
    )
    if corrected:
        result = _Correction(sources(folder, loaded, corrected), place, progress).all(result)
    write_record(place / RESULT, result)
    folder.finish("correct")


@dataclass(frozen=True, eq=False)
class _Correction:
    sources: Sources
    place: Path
    progress: Progress

    def all(self, empty: CorrectResult) -> CorrectResult:
        """Every model of every seed."""
        wanted, loaded = self.sources.folder.query.correct, self.sources.loaded
        judged = self.sources.judged()
        kinds = [kind for kind in CONTROLS if self.sources.has_control(kind)]
        total = wanted.seeds * (len(wanted.lambdas) + len(kinds))
        before = self._with_halves(
            {name: answers(loaded.model.module, one.pictures) == one.labels for name, one in judged.items()}
        )
        tuned: list[Tuned] = []
        chosen: list[float | None] = []
        compared: list[Compared] = []
        for seed in range(wanted.seeds):
            extra = self.sources.drawn(streams.TUNE, seed)
            right: dict[str, Right] = {}
            for weight in wanted.lambdas:
                self.progress("models tuned", len(tuned), total)
                model = self._tune(seed, SWEEP, weight, extra, judged)
                right[f"{SWEEP} {weight}"] = model.right
                tuned.append(_tuned(seed, SWEEP, weight, model))
            best = self._choose(tuned[-len(wanted.lambdas) :])
            chosen.append(best)
            for kind in kinds if best is not None else ():
                self.progress("models tuned", len(tuned), total)
                pictures = self.sources.control(kind, len(extra.labels), seed)
                model = self._tune(seed, kind, best or 0.0, pictures, judged)
                right[kind] = model.right
                tuned.append(_tuned(seed, kind, best or 0.0, model))
            if best is not None:
                self._keep(seed, best)
                others = {
                    BEFORE: before,
                    ZERO: right[f"{SWEEP} 0.0"],
                    **{kind: right[kind] for kind in kinds},
                }
                compared += _compared(seed, right[f"{SWEEP} {best}"], others, judged)
        self.progress("models tuned", total, total)
        return empty.model_copy(
            update={
                "before": Tuned(seed=0, kind=BEFORE, weight=0.0, right=_counts(before)),
                "tuned": tuned,
                "chosen": chosen,
                "compared": compared,
                "has_singles": SINGLE in kinds,
                "epochs": wanted.epochs,
                "epoch_by": self._judge if wanted.epoch == "best" else "",
            }
        )

    def _choose(self, sweep: list[Tuned]) -> float | None:
        """The weight of this seed's sweep that is used; None if every one costs too much accuracy.

        "choose": best on draws that neither tune nor test, if validation accuracy is not more than `loss` below that
        of weight 0, which has had the same further training (the model itself may have learned those pictures).
        """
        floor = next(one for one in sweep if one.weight == 0.0).accuracy(VALIDATION).value
        floor -= self.sources.folder.query.correct.loss
        usable = [
            one
            for one in sweep
            if one.weight > 0 and (self._is_printed or one.accuracy(VALIDATION).value >= floor)
        ]
        by = TRAINING if self._is_printed else CHOOSE
        best = max(usable, key=lambda one: (one.accuracy(by).value, -one.weight), default=None)
        return None if best is None else best.weight

    @property
    def _is_printed(self) -> bool:
        """Whether training pictures choose, as in the paper's experiment on MNIST."""
        return self.sources.folder.query.correct.select == "printed"

    @property
    def _judge(self) -> str:
        """The pictures that choose the best epoch."""
        return TRAINING if self._is_printed else VALIDATION

    def _with_halves(self, right: Right) -> Right:
        """With the halves of the test split, if its data set has been published by halves."""
        half = self.sources.half()
        return (
            {**right, FIRST_HALF: right[TEST][half], SECOND_HALF: right[TEST][~half]} if half.any() else right
        )

    def _tune(self, seed: int, kind: str, weight: float, extra: Set, judged: Mapping[str, Set]) -> _Model:
        """The tuned model as its weights are stored."""
        path = self.place / PARTS / f"{_name(seed, kind, weight)}.safetensors"
        if not path.exists():
            network, epoch = self._trained(seed, kind, weight, extra, judged[self._judge])
            right: dict[str, Array] = {
                name: answers(network, one.pictures) == one.labels for name, one in judged.items()
            }
            write_arrays(path, {**right, EPOCH: np.array([epoch]), **stored(network)})
        found = read_arrays(path)
        right_of = self._with_halves({name: flags(found[name]) for name in judged})
        return _Model(right_of, int(ints(found[EPOCH])[0]))

    def _trained(
        self, seed: int, kind: str, weight: float, extra: Set, judging: Set
    ) -> tuple[nn.Module, int]:
        """The network with the weights of the epoch that the query keeps, as they are stored, and that epoch."""
        wanted, loaded = self.sources.folder.query.correct, self.sources.loaded
        rows = self.sources.rows
        data = loaded.train.at(rows)
        digest = hashlib.sha256(extra.pictures.tobytes() + extra.labels.tobytes() + rows.tobytes())
        settings = Settings(
            model=f"{loaded.model.name} {_name(seed, kind, weight)}",
            dataset=data.name,
            data=digest.hexdigest(),
            classes=data.names,
            seed=self.sources.folder.query.seed + seed,
            epochs=wanted.epochs,
            batch_size=wanted.batch,
            device="cpu",
            threads=1,
        )
        further = Extra(torch.from_numpy(planes(extra.pictures)), torch.from_numpy(extra.labels), weight)
        checkpoint = self.place / PARTS / f"{_name(seed, kind, weight)}.checkpoint.safetensors"
        epochs = Epochs(judging, self.place / PARTS / _name(seed, kind, weight))
        job = fit(
            lambda: fine_tune_training(loaded.model.module, further, wanted.rate),
            data,
            settings,
            checkpoint,
            on_epoch=epochs.keep if wanted.epoch == "best" else None,
        )
        network = job.modules["model"]
        if wanted.epoch == "best":
            epochs.load(network, best := epochs.best(wanted.epochs))
            return network, best
        load_stored(network, stored(network), checkpoint)
        return network, wanted.epochs

    def _keep(self, seed: int, weight: float) -> None:
        """Write the chosen weights of a seed with their card."""
        loaded = self.sources.loaded
        found = read_arrays(self.place / PARTS / f"{_name(seed, SWEEP, weight)}.safetensors")
        right = {name: [int(found[name].sum()), len(found[name])] for name in TESTS}
        card: dict[str, object] = {
            "kind": loaded.kind,
            "dataset": loaded.model.dataset,
            "labels": list(loaded.model.labels),
            "picture": list(loaded.model.picture),
            "licence": loaded.licence,
            "tuned_from": f"{loaded.model.name} {loaded.model.sha256}",
            "generator": f"{loaded.generator.name} {loaded.generator.sha256}",
            "settings": self.sources.folder.query.model_dump(mode="json"),
            "seed": seed,
            "lambda": weight,
            "epoch": int(ints(found[EPOCH])[0]),
            "scenarios": [one.model_dump() for one in self.sources.corrected],
            "right": right,
        }
        write_safetensors(self.place / f"model-{seed}.safetensors", state_of(found), card)


def _name(seed: int, kind: str, weight: float) -> str:
    return f"{kind}-{seed}-{weight!r}"


def _tuned(seed: int, kind: str, weight: float, model: _Model) -> Tuned:
    return Tuned(seed=seed, kind=kind, weight=weight, right=_counts(model.right), epoch=model.epoch)


def _counts(right: Right) -> dict[str, tuple[int, int]]:
    return {name: (int(one.sum()), len(one)) for name, one in right.items()}


def _compared(
    seed: int, chosen: Right, others: Mapping[str, Right], judged: Mapping[str, Set]
) -> Iterator[Compared]:
    for against, other in others.items():
        for test in TESTS:
            pair = paired(chosen[test].tolist(), other[test].tolist())
            origins = judged[test].origins
            interval = (
                None if origins is None else paired_difference(chosen[test], other[test], origins.tolist())
            )
            yield Compared(
                seed=seed,
                against=against,
                test=test,
                both=pair.both,
                only_chosen=pair.only_first,
                only_other=pair.only_second,
                neither=pair.neither,
                low=None if interval is None else interval.low,
                high=None if interval is None else interval.high,
            )
