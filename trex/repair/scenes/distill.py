"""Step 2: clusters of the misread objects' situations, each with a sentence; and does another seed find them?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trex.families.rules import find_rules
from trex.foundation.errors import InputError
from trex.inference.repair.mixture import Mixture, adjusted_rand, fit_mixture
from trex.inference.rng import stream
from trex.repair.arrays import Flags, Floats, Ints, floats, read_arrays, write_arrays
from trex.repair.distill import SEEDS, mixture_arrays, mixture_in
from trex.repair.folder import PARTS
from trex.repair.loaded import Progress
from trex.repair.records import Record, write_record
from trex.repair.scenes.identify import GROWN, learned
from trex.repair.scenes.loaded import SceneFolder, SceneLoaded
from trex.repair.scenes.mistakes import Misread, read_misreads
from trex.repair.scenes.vectors import Scale, scale_of, vector
from trex.scenes.conditions import (
    Condition,
    noun_words,
    object_conditions,
    object_rows,
    part_words,
    scene_conditions,
)
from trex.scenes.graph import Facts, facts_of
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary

MIXTURE, RESULT, CONDITIONS = "mixture.safetensors", "distill.json", "conditions.json"
MAX_PRIOR = 1000  # prior scenes that vectors and sentences are compared with
MAX_KINDS = 3


class SceneComponent(Record):
    """A kept component: its weight, how many misread objects belong to it, from how many prior scenes, and in words.

    `kinds`: what the objects are most often taken for, with counts.
    """

    number: int
    weight: float
    members: int
    origins: int
    sentence: str
    kinds: list[tuple[str, int]]


class SentenceConditions(Record):
    """The keys of the conditions that each component's sentence names, by the component's number."""

    components: dict[int, list[str]]


class SceneDistillResult(Record):
    """The components, and how stable they are: `near` the cut-off, and as a second seed finds them."""

    misread: int
    dimensions: int
    components: list[SceneComponent]
    kept_weight: float
    near: int
    converged: bool
    second_kept: int
    rand_index: float


class Situations:
    """The clusters as the step has stored them: to which component does an object of a scene belong?"""

    def __init__(self, path: Path, vocabulary: Vocabulary) -> None:
        found = read_arrays(path)
        self.mixture = mixture_in(found)
        self._scale = Scale(*(floats(found[name]) for name in ("mean", "deviation", "center", "axes")))
        self._vocabulary = vocabulary

    def inside(self, scene: Scene, index: int) -> int:
        """The component in whose 90 % ellipsoid the object lies, -1 for none."""
        rows = vector(facts_of(scene, self._vocabulary), index, self._vocabulary)[None]
        return int(self.mixture.inside(self._scale.codes(rows))[0])

    def members(self, rows: Sequence[Misread]) -> Ints:
        """The component (n,) with most responsibility for each misread object."""
        codes = self._scale.codes(vectors(rows, self._vocabulary))
        found: Ints = self.mixture.responsibilities(codes).argmax(axis=1)
        return found


def distill_scenes(folder: SceneFolder, loaded: SceneLoaded, progress: Progress) -> None:
    """Carry out the step, or resume it; InputError if there are too few misread objects."""
    wanted, vocabulary = folder.query.distill, loaded.prior.vocabulary
    rows = read_misreads(folder.require("identify") / GROWN)
    place = folder.begin("distill")
    if place is None:
        return
    prior = [facts_of(one, vocabulary) for one in loaded.members(learned(folder)[:MAX_PRIOR])]
    usual = np.stack(
        [vector(facts, k, vocabulary) for facts in prior for k in range(len(facts.scene.objects))]
    )
    if not rows:
        raise InputError("the model misreads no object; raise identify.seeds, or there is nothing to repair")
    found = vectors(rows, vocabulary)
    scale = scale_of(usual, found, vocabulary, wanted.dimensions)
    codes = scale.codes(found)
    fits: list[Mixture] = []
    for number in SEEDS:
        path = place / PARTS / f"mixture-{number}.safetensors"
        progress("mixtures fitted", number, len(SEEDS))
        if not path.exists():
            seed = int(stream(folder.query.seed, number).integers(2**31))
            fit = fit_mixture(codes, wanted.components, wanted.iterations, seed, wanted.regularization)
            write_arrays(path, mixture_arrays(fit))
        fits.append(mixture_in(read_arrays(path)))
    progress("mixtures fitted", len(SEEDS), len(SEEDS))
    mixture, second = fits
    assigned, other = (fit.responsibilities(codes).argmax(axis=1) for fit in fits)
    kept = mixture.kept(wanted.cutoff, assigned)
    if not len(kept):
        raise InputError(
            f"no component is heavier than distill.cutoff = {wanted.cutoff}; lower it, or distill.components"
        )
    sentences = _Sentences(rows, prior, vocabulary)
    named = {int(k): sentences.of(np.flatnonzero(assigned == k)) for k in kept}
    write_arrays(
        place / MIXTURE,
        {
            **mixture_arrays(mixture),
            "mean": scale.mean,
            "deviation": scale.deviation,
            "center": scale.center,
            "axes": scale.axes,
        },
    )
    keys = {k: [one.key for one in chosen] for k, chosen in named.items()}
    write_record(place / CONDITIONS, SentenceConditions(components=keys))
    write_record(
        place / RESULT,
        SceneDistillResult(
            misread=len(rows),
            dimensions=codes.shape[1],
            components=[
                _component(int(k), mixture, rows, np.flatnonzero(assigned == k), subject_words(named[int(k)]))
                for k in kept
            ],
            kept_weight=float(mixture.weights[kept].sum()),
            near=mixture.near(wanted.cutoff),
            converged=mixture.converged,
            second_kept=len(second.kept(wanted.cutoff, other)),
            rand_index=adjusted_rand(assigned, other),
        ),
    )
    folder.finish("distill")


def vectors(rows: Sequence[Misread], vocabulary: Vocabulary) -> Floats:
    """(n, d): the misread objects' situations."""
    return np.stack([vector(facts_of(one.value, vocabulary), one.index, vocabulary) for one in rows])


def _component(
    number: int, mixture: Mixture, rows: Sequence[Misread], members: Ints, sentence: str
) -> SceneComponent:
    chosen = [rows[int(k)] for k in members]
    kinds = Counter(one.seen for one in chosen)
    return SceneComponent(
        number=number,
        weight=float(mixture.weights[number]),
        members=len(chosen),
        origins=len({one.member for one in chosen}),
        sentence=sentence,
        kinds=sorted(kinds.items(), key=lambda item: (-item[1], item[0]))[:MAX_KINDS],
    )


def all_conditions(vocabulary: Vocabulary) -> list[Condition]:
    """Those that sentences may name."""
    return [*object_conditions(vocabulary), *scene_conditions()]


def subject_words(chosen: Sequence[Condition]) -> str:
    """A sentence's subject: "an object less than 40 % visible beside a cube"; "an object" without a condition."""
    parts = (part_words(chosen, part) for part in ("seen", "where", "scene"))
    return " ".join([noun_words(chosen), *(words for part in parts for words in part)])


class _Sentences:
    """Says what sets a component's objects apart from those of the prior: its best rule of few conditions."""

    def __init__(self, rows: Sequence[Misread], prior: Sequence[Facts], vocabulary: Vocabulary) -> None:
        conditions = all_conditions(vocabulary)
        self._conditions: Sequence[Condition] = conditions
        mine = [object_rows(facts_of(one.value, vocabulary), conditions)[one.index] for one in rows]
        self._rows: Flags = np.stack(mine)
        self._prior: Flags = np.concatenate([object_rows(facts, conditions) for facts in prior])

    def of(self, members: Ints) -> list[Condition]:
        """The conditions of the component's sentence; none if nothing sets it apart."""
        holds = np.concatenate([self._rows[members], self._prior])
        events = np.arange(len(holds)) < len(members)
        rules = find_rules(holds, events, most_rules=1)
        return [self._conditions[c] for c in rules[0].conditions] if rules else []
