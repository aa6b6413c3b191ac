"""Step 4: tunes the model on fresh scenes of each scenario, with every control, and judges all of it by the same tests.

`judges` has the tests. All pictures and draws are new to every model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trex.artifacts.card import read_card
from trex.artifacts.precision import training_device
from trex.artifacts.weights import write_safetensors
from trex.clevr_models.percept.training_data import Scenes, labelled
from trex.clevr_models.percept.tune import tune
from trex.inference.rng import stream
from trex.repair.arrays import Array, flags, read_arrays, write_arrays
from trex.repair.correction.epochs import state_of, stored
from trex.repair.correction.results import BEFORE, ZERO, Tuned
from trex.repair.folder import PARTS
from trex.repair.loaded import Progress
from trex.repair.records import read_record, write_record
from trex.repair.scenes import results as names
from trex.repair.scenes.draws import Fresh, Generator
from trex.repair.scenes.identify import (
    ASK,
    CHOOSE,
    DECIDE,
    GROWN,
    HELD,
    RAW,
    TEST,
    TUNE,
    further,
    learned,
    validation,
)
from trex.repair.scenes.judges import Asked, Judges, Right, Shown
from trex.repair.scenes.label import RESULT as LABELS
from trex.repair.scenes.label import SceneLabelResult, generator_of
from trex.repair.scenes.loaded import SceneFolder, SceneLoaded
from trex.repair.scenes.mistakes import Misread, read_misreads
from trex.repair.scenes.results import SceneCompared, SceneCorrectResult, compared, scenario_test
from trex.scenes.questions.families import random_questions
from trex.scenes.questions.programs import Program
from trex.scenes.scene import Scene

RESULT = "correct.json"
CHECKING = 3  # one in so many validation scenes bounds lambda's cost; the others test


def correct_scenes(folder: SceneFolder, loaded: SceneLoaded, progress: Progress) -> None:
    """Carry out the step, or resume it; without a scenario nothing is tuned.

    InputError, before anything is rendered, if the device that tunes is not there.
    """
    training_device(folder.query.correct.device)
    found = read_record(SceneLabelResult, folder.require("label") / LABELS)
    place = folder.begin("correct")
    if place is None:
        return
    ranked = sorted(found.scenarios, key=lambda one: (-one.low, one.number))
    numbers = [one.number for one in ranked[: folder.query.correct.most]]
    result = SceneCorrectResult(corrected=numbers, before=None, tuned=[], chosen=[], compared=[])
    if numbers:
        generator = generator_of(folder, loaded)
        result = _Correction(folder, loaded, numbers, generator, place, progress).all(result)
    write_record(place / RESULT, result)
    folder.finish("correct")


@dataclass(frozen=True, eq=False)
class _Correction:
    folder: SceneFolder
    loaded: SceneLoaded
    numbers: Sequence[int]
    generator: Generator
    place: Path
    progress: Progress

    def all(self, empty: SceneCorrectResult) -> SceneCorrectResult:
        """Every model of every seed."""
        wanted = self.folder.query.correct
        judges = self._judges()
        before = judges.right(self.loaded.percept)
        ordinary = self._ordinary(learned(self.folder), "ordinary scenes")
        total = wanted.seeds * (len(wanted.lambdas) + len(names.CONTROLS))
        tuned: list[Tuned] = []
        chosen: list[float | None] = []
        rows: list[SceneCompared] = []
        for seed in range(wanted.seeds):
            extra = self._drawn(seed)
            right: dict[str, Right] = {}
            for weight in wanted.lambdas:
                self.progress("models tuned", len(tuned), total)
                right[f"{names.SWEEP} {weight}"] = self._tune(
                    seed, names.SWEEP, weight, ordinary, extra, judges
                )
                tuned.append(_tuned(seed, names.SWEEP, weight, right[f"{names.SWEEP} {weight}"]))
            best = self._choose(tuned[-len(wanted.lambdas) :])
            chosen.append(best)
            if best is None:
                continue
            for kind in names.CONTROLS:
                self.progress("models tuned", len(tuned), total)
                instead = self._instead(kind, len(extra.numbers), seed)
                right[kind] = self._tune(seed, kind, best, ordinary, instead, judges)
                tuned.append(_tuned(seed, kind, best, right[kind]))
            self._keep(seed, best)
            others = {
                BEFORE: before,
                ZERO: right[f"{names.SWEEP} 0.0"],
                **{kind: right[kind] for kind in names.CONTROLS},
            }
            rows += _compared(seed, right[f"{names.SWEEP} {best}"], others, judges)
        self.progress("models tuned", total, total)
        return empty.model_copy(
            update={
                "before": _tuned(0, BEFORE, 0.0, before),
                "tuned": tuned,
                "chosen": chosen,
                "compared": rows,
            }
        )

    def _judges(self) -> Judges:
        """All pictures that judge, rendered where they are not stored yet."""
        wanted, folder, loaded = self.folder.query.correct, self.folder, self.loaded
        held = read_misreads(folder.require("identify") / HELD)
        shown = {names.GROWN: self._shown([Fresh(one.value, one.index, one.member) for one in held], False)}
        joined = {}
        for name, n, key, is_deciding in (
            (names.FRESH, folder.query.label.pictures, TEST, False),
            (names.DECIDING, wanted.deciding, DECIDE, True),
        ):
            joined[name] = [scenario_test(name, number) for number in self.numbers]
            for part, number in zip(joined[name], self.numbers, strict=True):
                shown[part] = self._shown(self.generator.draw(number, n, key)[0], is_deciding)
        choosing = [self.generator.draw(number, wanted.choose, CHOOSE)[0] for number in self.numbers]
        shown[names.CHOOSE] = self._shown([one for drawn in choosing for one in drawn], False)
        rows = validation(folder)
        pictures = loaded.of_bank(rows, self.progress, "validation scenes")
        asked = [
            Asked(picture, self._questions(scene, number))
            for number, scene, picture in zip(rows, loaded.members(rows), pictures, strict=True)
        ]
        n_checked = max(1, len(asked) // CHECKING)
        return Judges(shown, joined, {names.CHECKED: asked[:n_checked], names.ANSWERS: asked[n_checked:]})

    def _questions(self, scene: Scene, number: int) -> list[tuple[str, Program, str]]:
        rng = stream(self.folder.query.seed, ASK, number)
        drawn = random_questions(
            rng, scene, self.folder.query.correct.questions, vocabulary=self.loaded.prior.vocabulary
        )
        return [("", one.program, one.answer) for one in drawn]

    def _shown(self, drawn: Sequence[Fresh], is_deciding: bool) -> Shown:
        scenes = [one.scene for one in drawn]
        render = self.loaded.decided if is_deciding else self.loaded.pictures
        what = "test scenes at the deciding look" if is_deciding else "test scenes"
        return Shown(drawn, render(scenes, self.progress, what))

    def _ordinary(self, rows: range, what: str) -> Scenes:
        pictures = self.loaded.of_bank(rows, self.progress, what)
        return labelled(self.loaded.members(rows), [one.pixels for one in pictures])

    def _drawn(self, seed: int) -> Scenes:
        """Fresh scenes of all scenarios, as many of each."""
        n = self.folder.query.correct.pictures
        scenes = [
            one.scene for number in self.numbers for one in self.generator.draw(number, n, TUNE, seed)[0]
        ]
        return self._labelled(scenes)

    def _labelled(self, scenes: Sequence[Scene]) -> Scenes:
        pictures = self.loaded.pictures(scenes, self.progress, "scenes to tune on")
        return labelled(scenes, [one.pixels for one in pictures])

    def _instead(self, kind: str, n: int, seed: int) -> Scenes:
        """As many other scenes: ordinary ones that are new, or scenes with mistakes, without clusters."""
        if kind == names.ORDINARY:
            return self._ordinary(further(self.folder, n), "new ordinary scenes")
        rows = read_misreads(self.folder.require("identify") / GROWN)
        chosen = raw_mistakes(stream(self.folder.query.seed, RAW, seed), rows, n)
        return self._labelled([one.value for one in chosen])

    def _choose(self, sweep: list[Tuned]) -> float | None:
        """The best weight on scenes that choose, if it costs at most `loss` of the checked answers against weight 0."""
        zero = next(one for one in sweep if one.weight == 0.0)
        floor = zero.accuracy(names.CHECKED).value - self.folder.query.correct.loss
        usable = [one for one in sweep if one.weight > 0 and one.accuracy(names.CHECKED).value >= floor]
        best = max(usable, key=lambda one: (one.accuracy(names.CHOOSE).value, -one.weight), default=None)
        return None if best is None else best.weight

    def _tune(
        self, seed: int, kind: str, weight: float, ordinary: Scenes, extra: Scenes, judges: Judges
    ) -> Right:
        """What the tuned model, as its weights are stored, has right of each test."""
        wanted = self.folder.query.correct
        path = self.place / PARTS / f"{kind}-{seed}-{weight!r}.safetensors"
        if not path.exists():
            percept = tune(
                self.loaded.percept,
                ordinary,
                extra,
                weight,
                seed=self.folder.query.seed + seed,
                epochs=wanted.epochs,
                batch_size=wanted.batch,
                rate=wanted.rate,
                device=wanted.device,
                on_progress=lambda done, total, *facts: self.progress("steps of this model", done, total),
            )
            right: dict[str, Array] = dict(judges.right(percept))
            write_arrays(path, {**right, **stored(percept)})
        found = read_arrays(path)
        return {name: flags(found[name]) for name in judges.tests}

    def _keep(self, seed: int, weight: float) -> None:
        """Write the chosen weights of a seed with their card: a model that every command takes."""
        found = read_arrays(self.place / PARTS / f"{names.SWEEP}-{seed}-{weight!r}.safetensors")
        state = state_of(found)
        before = read_card(self.loaded.weights)
        card: dict[str, object] = {
            "model": before.get("model", "percept"),
            "training": before.get("training", []),
            "tuned_from": self.folder.sources.model,
            "settings": self.folder.query.model_dump(mode="json"),
            "seed": seed,
            "lambda": weight,
            "right": {name: [int(found[name].sum()), len(found[name])] for name in names.TESTS},
        }
        write_safetensors(self.place / f"model-{seed}.safetensors", state, card)


def raw_mistakes(rng: np.random.Generator, rows: Sequence[Misread], n: int) -> list[Misread]:
    """So many of the mistakes in random order, none twice before all are taken.

    Those in prior scenes come last: the model is tuned on these anyway.
    """
    chosen: list[Misread] = []
    while len(chosen) < n:
        order = rng.permutation(len(rows))
        mixed = [rows[int(k)] for k in order]
        chosen += sorted(mixed, key=lambda one: one.is_ordinary)
    return chosen[:n]


def _tuned(seed: int, kind: str, weight: float, right: Right) -> Tuned:
    counts = {name: (int(one.sum()), len(one)) for name, one in right.items()}
    return Tuned(seed=seed, kind=kind, weight=weight, right=counts)


def _compared(
    seed: int, chosen: Right, others: Mapping[str, Right], judges: Judges
) -> Iterator[SceneCompared]:
    for against, other in others.items():
        for test in chosen:
            if test not in (names.CHOOSE, names.CHECKED) and len(chosen[test]):
                yield compared(seed, against, test, (chosen[test], other[test]), judges.clusters(test))
