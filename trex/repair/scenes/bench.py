"""What a CLEVR model is tuned on and judged by.

Fresh scenes of the scenarios, mistakes grown from held-out scenes, fresh scenes at the deciding look, and questions
about ordinary scenes. All pictures and draws are new to every model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from torch import nn

from trex.artifacts.card import read_card
from trex.artifacts.precision import training_device
from trex.clevr_models.interface.question import Question
from trex.clevr_models.percept.model import Percept, PerceptModel
from trex.clevr_models.percept.training_data import Scenes, labelled
from trex.clevr_models.percept.tune import tune as tune_percept
from trex.foundation.progress import Progress
from trex.inference.rng import stream
from trex.inference.scoring import images
from trex.render.picture import Picture
from trex.repair.domain import Plan, Right, Tuning
from trex.repair.files import Flags
from trex.repair.results import (
    ANSWERS,
    CHECKED,
    CHOOSE,
    DECIDING,
    FRESH,
    GROWN,
    ORDINARY,
    RAW,
    SWEEP,
    Scenario,
    scenario_test,
)
from trex.repair.scenes.families import Fresh, Generator, generator_of
from trex.repair.scenes.identify import GROWN as GROWN_FILE
from trex.repair.scenes.identify import HELD, Misread, further, learned, read_misreads, validation
from trex.repair.scenes.label import TruthResult
from trex.repair.scenes.loaded import Folder, SceneLoaded, SceneStream
from trex.repair.scenes.reading import RIGHT, read
from trex.scenes.questions.families import random_questions
from trex.scenes.questions.programs import Program
from trex.scenes.scene import Scene
from trex.worlds.asking import ask_all

CHECKING = 3  # one in so many validation scenes bounds lambda's cost; the others test


def tune(folder: Folder, loaded: SceneLoaded) -> Tuning:
    """The scenarios that are misread most often; InputError if the device that tunes is not there."""
    training_device(folder.query.correct.device)
    found = folder.found("label", TruthResult)
    ranked = sorted(found.scenarios, key=lambda verdict: (-verdict.low, verdict.number))
    numbers = [verdict.number for verdict in ranked[: folder.query.correct.most]]

    def bench(progress: Progress) -> SceneBench:
        return SceneBench(folder, loaded, numbers, generator_of(folder, loaded), progress)

    return [Scenario(number=number) for number in numbers], (), bench


class Judged(NamedTuple):
    """A picture that judges: its cluster, and the object that counts there, or questions with their true answers."""

    cluster: int
    picture: Picture
    fresh: Fresh | None = None
    questions: Sequence[tuple[Program, str]] = ()

    def right(self, percept: Percept) -> list[bool]:
        """What a model has right of it."""
        if self.fresh is not None:
            ((*seen,),) = read(percept, [self.fresh.scene], [self.picture])
            return [seen[self.fresh.index] == RIGHT]
        questions = [Question("", program) for program, _ in self.questions]
        given = ask_all(PerceptModel(percept), images([self.picture])[0], questions)
        return [answer.answer == truth for answer, (_, truth) in zip(given, self.questions, strict=True)]


@dataclass(frozen=True, eq=False)
class SceneBench:
    """Draws and pictures for the scenarios of these numbers."""

    folder: Folder
    loaded: SceneLoaded
    numbers: Sequence[int]
    generator: Generator
    progress: Progress
    extra: dict[int, Scenes] = field(default_factory=dict)  # of the last seed: many pictures

    @property
    def plan(self) -> Plan:
        tests = [test for test in (*self.judged, *self.joined) if test not in (CHOOSE, CHECKED)]
        return Plan((ORDINARY, RAW), tests, CHOOSE, CHECKED)

    def before(self) -> Right:
        return self.right(self.loaded.percept)

    def right(self, network: nn.Module) -> Right:
        """What a model has right of each test; each picture is read once."""
        percept, found = cast(Percept, network), dict[str, Flags]()
        for name, pictures in self.judged.items():
            found[name] = np.array([flag for each in pictures for flag in each.right(percept)], np.bool_)
        return found | {
            name: np.concatenate([found[part] for part in parts]) for name, parts in self.joined.items()
        }

    def clusters(self, test: str) -> Sequence[int] | None:
        """The prior scene from which each of a test's objects or answers comes."""
        parts = [each for part in self.joined.get(test, (test,)) for each in self.judged[part]]
        return [each.cluster for each in parts for _ in range(1 if each.fresh else len(each.questions))]

    def tuned(self, kind: str, weight: float, seed: int, stem: Path) -> tuple[nn.Module, int | None]:
        wanted = self.folder.query.correct
        percept = tune_percept(
            self.loaded.percept,
            self.ordinary,
            self._drawn(seed) if kind == SWEEP else self._instead(kind, seed),
            weight,
            seed=self.folder.query.seed + seed,
            epochs=wanted.epochs,
            batch_size=wanted.batch,
            rate=wanted.rate,
            device=wanted.device,
            progress=self.progress,
        )
        return percept, None

    def card(self) -> dict[str, object]:
        before = read_card(self.loaded.weights)
        return {
            "model": before.get("model", "percept"),
            "training": before.get("training", []),
            "tuned_from": self.folder.sources.model,
        }

    @cached_property
    def ordinary(self) -> Scenes:
        """The prior scenes from which mistakes grow: every model is tuned on them."""
        return self._ordinary(learned(self.folder.query), "ordinary scenes")

    @property
    def joined(self) -> Mapping[str, Sequence[str]]:
        """Tests that are others, one for each scenario, one after another."""
        return {name: [scenario_test(name, number) for number in self.numbers] for name in (FRESH, DECIDING)}

    @cached_property
    def judged(self) -> Mapping[str, Sequence[Judged]]:
        """All pictures that judge, rendered where they are not stored yet."""
        wanted, folder, loaded = self.folder.query.correct, self.folder, self.loaded
        held = read_misreads(folder.require("identify") / HELD)
        found = {GROWN: self._shown([Fresh(row.value, row.index, row.member) for row in held], False)}
        for name, n, key, is_deciding in (
            (FRESH, folder.query.label.pictures, SceneStream.TEST, False),
            (DECIDING, wanted.deciding, SceneStream.DECIDE, True),
        ):
            for number in self.numbers:
                drawn, _ = self.generator.draw(number, n, key)
                found[scenario_test(name, number)] = self._shown(drawn, is_deciding)
        choosing = [
            self.generator.draw(number, wanted.choose, SceneStream.CHOOSE)[0] for number in self.numbers
        ]
        found[CHOOSE] = self._shown([fresh for drawn in choosing for fresh in drawn], False)
        rows = validation(folder.query)
        pictures = loaded.of_bank(rows, self.progress, "validation scenes")
        judged = [
            Judged(k, picture, questions=self._questions(scene, number))
            for k, (number, scene, picture) in enumerate(
                zip(rows, loaded.members(rows), pictures, strict=True)
            )
        ]
        n_checked = max(1, len(judged) // CHECKING)
        return {**found, CHECKED: judged[:n_checked], ANSWERS: judged[n_checked:]}

    def _questions(self, scene: Scene, number: int) -> list[tuple[Program, str]]:
        rng = stream(self.folder.query.seed, SceneStream.ASK, number)
        drawn = random_questions(
            rng, scene, self.folder.query.correct.questions, vocabulary=self.loaded.prior.vocabulary
        )
        return [(question.program, question.answer) for question in drawn]

    def _shown(self, drawn: Sequence[Fresh], is_deciding: bool) -> list[Judged]:
        scenes = [fresh.scene for fresh in drawn]
        renderer = self.loaded.deciding if is_deciding else self.loaded.near
        what = "test scenes at the deciding preset" if is_deciding else "test scenes"
        pictures = self.loaded.pictures(renderer, scenes, self.progress, what)
        return [Judged(fresh.member, picture, fresh) for fresh, picture in zip(drawn, pictures, strict=True)]

    def _ordinary(self, rows: range, what: str) -> Scenes:
        pictures = self.loaded.of_bank(rows, self.progress, what)
        return labelled(self.loaded.members(rows), [picture.pixels for picture in pictures])

    def _drawn(self, seed: int) -> Scenes:
        """Fresh scenes of all scenarios, as many of each."""
        if seed not in self.extra:
            n = self.folder.query.correct.pictures
            drawn = [self.generator.draw(number, n, SceneStream.TUNE, seed)[0] for number in self.numbers]
            self.extra.clear()
            self.extra[seed] = self._labelled([fresh.scene for each in drawn for fresh in each])
        return self.extra[seed]

    def _labelled(self, scenes: Sequence[Scene]) -> Scenes:
        pictures = self.loaded.pictures(self.loaded.near, scenes, self.progress, "scenes to tune on")
        return labelled(scenes, [picture.pixels for picture in pictures])

    def _instead(self, kind: str, seed: int) -> Scenes:
        """As many other scenes: ordinary ones that are new, or scenes with mistakes, without clusters."""
        n = len(self._drawn(seed).numbers)
        if kind == ORDINARY:
            return self._ordinary(further(self.folder.query, n), "new ordinary scenes")
        rows = read_misreads(self.folder.require("identify") / GROWN_FILE)
        chosen = raw_mistakes(stream(self.folder.query.seed, SceneStream.RAW, seed), rows, n)
        return self._labelled([row.value for row in chosen])


def raw_mistakes(rng: np.random.Generator, rows: Sequence[Misread], n: int) -> list[Misread]:
    """So many of the mistakes in random order, none twice before all are taken.

    Those in prior scenes come last: the model is tuned on these anyway.
    """
    chosen: list[Misread] = []
    while len(chosen) < n:
        order = rng.permutation(len(rows))
        mixed = [rows[int(k)] for k in order]
        chosen += sorted(mixed, key=lambda row: row.is_ordinary)
    return chosen[:n]
