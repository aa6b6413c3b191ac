"""Step 3: fresh scenes of each component, judged by the truth that the renderer knows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.foundation.files import write_atomic
from trex.inference.statistics.clustered import clustered_interval
from trex.render.picture import Picture
from trex.render.png_url import png_bytes
from trex.repair.loaded import Progress
from trex.repair.records import Record, read_record, write_record
from trex.repair.scenes.distill import (
    CONDITIONS,
    MIXTURE,
    SceneDistillResult,
    SentenceConditions,
    Situations,
    all_conditions,
    subject_words,
)
from trex.repair.scenes.distill import RESULT as DISTILLED
from trex.repair.scenes.draws import Fresh, Generator
from trex.repair.scenes.identify import DRAW, GROWN, SceneIdentifyResult
from trex.repair.scenes.identify import RESULT as IDENTIFIED
from trex.repair.scenes.loaded import SceneFolder, SceneLoaded
from trex.repair.scenes.mistakes import read_misreads
from trex.repair.scenes.reading import MISSED, RIGHT
from trex.scenes.conditions import object_rows
from trex.scenes.describe import object_words
from trex.scenes.graph import facts_of
from trex.scenes.moves.small_changes import SmallChange
from trex.scenes.vocabulary import Vocabulary

RESULT = "label.json"
SCENARIO, WEAK, NEITHER = "scenario", "weak scenario", "no scenario"
HALF = 0.5
CLEAR = 0.8  # share of the fresh objects that must meet the conditions of a sentence that is said of them
MAX_EXAMPLES = 4
BOX = (255, 255, 255)


class Example(Record):
    """A picture of a misread object, which a box marks: its file in the step's folder, and what is misread."""

    file: str
    words: str


class Verdict(Record):
    """A component's fresh scenes: how many, in how many the object is misread, with the interval of that share.

    `sentence` is the component's, without conditions that too few of these objects meet (`met_words`).
    The interval takes scenes grown from one prior scene as a cluster. `inside` is the share of small changes that
    stayed in the component.
    """

    number: int
    sentence: str
    drawn: int
    misread: int
    low: float
    high: float
    inside: float
    kind: str
    examples: list[Example]


class SceneLabelResult(Record):
    """All verdicts, and the prior's share of misread objects, of which a weak scenario has several times as many."""

    prior: float
    verdicts: list[Verdict]

    @property
    def scenarios(self) -> list[Verdict]:
        """Those that are scenarios, weak or not."""
        return [one for one in self.verdicts if one.kind != NEITHER]


def label_scenes(folder: SceneFolder, loaded: SceneLoaded, progress: Progress) -> None:
    """Carry out the step, or resume it."""
    distilled = read_record(SceneDistillResult, folder.require("distill") / DISTILLED)
    known = read_record(SceneIdentifyResult, folder.require("identify") / IDENTIFIED)
    _skip_pictures(folder)
    place = folder.begin("label")
    if place is None:
        return
    wanted, generator = folder.query.label, generator_of(folder, loaded)
    prior = known.misread / known.objects
    verdicts = []
    for one in distilled.components:
        drawn, inside = generator.draw(one.number, wanted.pictures, DRAW)
        what = f"fresh scenes of component {one.number}"
        seen = [
            words[fresh.index]
            for fresh, words in zip(
                drawn, loaded.seen([fresh.scene for fresh in drawn], progress, what), strict=True
            )
        ]
        hits = [word != RIGHT for word in seen]
        low, high = interval(drawn, hits)
        verdicts.append(
            Verdict(
                number=one.number,
                sentence=_sentence(folder, one.number, one.sentence, drawn, loaded),
                drawn=len(drawn),
                misread=sum(hits),
                low=low,
                high=high,
                inside=inside,
                kind=SCENARIO if low > HALF else WEAK if low > wanted.weak * prior else NEITHER,
                examples=_examples(place, one.number, loaded, drawn, seen),
            )
        )
    write_record(place / RESULT, SceneLabelResult(prior=prior, verdicts=verdicts))
    folder.finish("label")


def _sentence(
    folder: SceneFolder, number: int, made: str, drawn: Sequence[Fresh], loaded: SceneLoaded
) -> str:
    """A component's sentence as its fresh objects bear it out; as it was made if its conditions were not stored."""
    path = folder.require("distill") / CONDITIONS
    if not path.exists() or not drawn:
        return made
    keys = read_record(SentenceConditions, path).components.get(number, [])
    return met_words(keys, drawn, loaded.prior.vocabulary)


def met_words(keys: Sequence[str], drawn: Sequence[Fresh], vocabulary: Vocabulary) -> str:
    """The sentence's subject with the conditions that at least CLEAR of these objects meet together.

    The conditions come from the mistakes that made the component, and the objects need not meet them. Those that the
    fewest meet are left out first.
    """
    chosen = [one for one in all_conditions(vocabulary) if one.key in keys]
    rows = [object_rows(facts_of(one.scene, vocabulary), chosen)[one.index] for one in drawn]
    table = np.stack(rows)
    kept = list(range(len(chosen)))
    while kept and table[:, kept].all(axis=1).mean() < CLEAR:
        kept.remove(min(kept, key=lambda c: float(table[:, c].mean())))
    return subject_words([chosen[c] for c in kept])


def generator_of(folder: SceneFolder, loaded: SceneLoaded) -> Generator:
    """The generator of fresh scenes, from the members that the earlier steps have stored."""
    rows = read_misreads(folder.require("identify") / GROWN)
    situations = Situations(folder.require("distill") / MIXTURE, loaded.prior.vocabulary)
    change = SmallChange(loaded.prior.vocabulary, folder.query.identify.step)
    return Generator(rows, situations.members(rows), situations, change, folder.query.seed)


def seen_words(word: str) -> str:
    """What became of an object: "missed", "taken for cube", "seen as red"."""
    if word == MISSED:
        return MISSED
    name, value = word.split()
    return f"taken for {value}" if name == "shape" else f"seen as {value}"


def interval(drawn: Sequence[Fresh], hits: Sequence[bool]) -> tuple[float, float]:
    """The 95 % interval of the share of hits; 0 to 1 of nothing."""
    sizes: dict[int, int] = defaultdict(int)
    counts: dict[int, int] = defaultdict(int)
    for one, hit in zip(drawn, hits, strict=True):
        sizes[one.member] += 1
        counts[one.member] += hit
    found = clustered_interval([counts[k] for k in sizes], list(sizes.values()))
    return found.low, found.high


def _examples(
    place: Path, number: int, loaded: SceneLoaded, drawn: Sequence[Fresh], seen: Sequence[str]
) -> list[Example]:
    """The first few misread objects from different prior scenes."""
    chosen: dict[int, tuple[Fresh, str]] = {}
    for fresh, word in zip(drawn, seen, strict=True):
        if word != RIGHT:
            chosen.setdefault(fresh.member, (fresh, word))
    found = []
    for k, (fresh, word) in enumerate(list(chosen.values())[:MAX_EXAMPLES]):
        (picture,) = loaded.near.render([fresh.scene])
        name = f"example-{number}-{k}.png"
        write_atomic(place / name, png_bytes(_boxed(picture, fresh.index)))
        words = f"the {object_words(fresh.scene, fresh.index)}, {seen_words(word)}"
        found.append(Example(file=name, words=words))
    return found


def _boxed(picture: Picture, index: int) -> NDArray[np.uint8]:
    """The picture (H, W, 3) with a box around the visible part of an object."""
    pixels = picture.pixels.copy()
    rows, columns = np.nonzero(picture.mask == index + 1)
    if not len(rows):
        return pixels
    top, left = max(0, int(rows.min()) - 2), max(0, int(columns.min()) - 2)
    bottom = min(pixels.shape[0] - 1, int(rows.max()) + 2)
    right = min(pixels.shape[1] - 1, int(columns.max()) + 2)
    pixels[[top, bottom], left : right + 1] = BOX
    pixels[top : bottom + 1, [left, right]] = BOX
    return pixels


def _skip_pictures(folder: SceneFolder) -> None:
    """There is nothing to draw for voters: the step only takes its place in the order."""
    if folder.begin("pictures") is not None:
        folder.finish("pictures")
