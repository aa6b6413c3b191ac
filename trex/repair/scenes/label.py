"""Step 3: fresh scenes of each family, judged by the truth that the renderer knows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.families.symptom import seen_words
from trex.foundation.files import write_atomic
from trex.foundation.progress import Progress
from trex.foundation.words import counted, percent, percent_span
from trex.inference.statistics.clustered import clustered_interval
from trex.render.picture import Picture
from trex.render.png_url import png_bytes
from trex.repair.domain import Voters, Work
from trex.repair.files import Fields, Found, Record
from trex.repair.results import DistillResult
from trex.repair.scenes.families import Fresh, generator_of
from trex.repair.scenes.identify import SceneIdentifyResult
from trex.repair.scenes.loaded import Folder, SceneLoaded, SceneStream
from trex.repair.scenes.reading import RIGHT
from trex.scenes.scene import object_words

SCENARIO, WEAK, NEITHER = "scenario", "weak scenario", "no scenario"
HALF = 0.5
MAX_EXAMPLES = 4
BOX = (255, 255, 255)


class Example(Record):
    """A picture of a misread object, which a box marks: its file in the step's folder, and what is misread."""

    file: str
    words: str


class Verdict(Record):
    """A family's fresh scenes: how many, in how many the object is misread, with the interval of that share.

    The interval takes scenes grown from one prior scene as a cluster. `inside` is the share of small changes that met
    the family's conditions.
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


class TruthResult(Found):
    """All verdicts, and the prior's share of misread objects, of which a weak scenario has several times as many."""

    prior: float
    verdicts: list[Verdict]

    @property
    def scenarios(self) -> list[Verdict]:
        """Those that are scenarios, weak or not."""
        return [each for each in self.verdicts if each.kind != NEITHER]

    @property
    def lines(self) -> list[str]:
        rows = [
            f"{each.number:>9}  {f'{each.misread} of {each.drawn}':<17}  {percent_span(each.low, each.high):<16}  "
            f"{each.kind:<13}  {each.sentence}"
            for each in self.verdicts
        ]
        return ["   family  misread            95% CI           verdict        what", *rows]

    @property
    def sentences(self) -> list[str]:
        strong = sum(each.kind == SCENARIO for each in self.verdicts)
        return [
            f"Scenarios, by the truth of fresh scenes (more than half of their objects are misread): {strong} of "
            f"{counted(len(self.verdicts), 'family', 'families')}. Weak scenarios: {len(self.scenarios) - strong}. Of "
            f"all objects the model misreads {percent(self.prior)}."
        ]


def judge(folder: Folder, loaded: SceneLoaded, voters: Voters) -> tuple[Fields, Work]:
    """The step: nobody votes, since the truth of each picture is known."""
    distilled = folder.found("distill", DistillResult)
    known = folder.found("identify", SceneIdentifyResult)

    def carry_out(place: Path, progress: Progress) -> TruthResult:
        wanted, generator = folder.query.label, generator_of(folder, loaded)
        prior = known.misread / known.objects
        verdicts = []
        for component in distilled.components:
            number = component.number
            drawn, inside = generator.draw(number, wanted.pictures, SceneStream.DRAW)
            scenes = [fresh.scene for fresh in drawn]
            rows = loaded.seen(scenes, progress, f"fresh scenes of family {number}")
            seen = [words[fresh.index] for fresh, words in zip(drawn, rows, strict=True)]
            hits = [word != RIGHT for word in seen]
            low, high = interval(drawn, hits)
            verdict = Verdict(
                number=number,
                sentence=component.sentence,
                drawn=len(drawn),
                misread=sum(hits),
                low=low,
                high=high,
                inside=inside,
                kind=SCENARIO if low > HALF else WEAK if low > wanted.weak * prior else NEITHER,
                examples=_examples(place, number, loaded, drawn, seen),
            )
            verdicts.append(verdict)
        return TruthResult(prior=prior, verdicts=verdicts)

    return {}, carry_out


def interval(drawn: Sequence[Fresh], hits: Sequence[bool]) -> tuple[float, float]:
    """The 95% interval of the share of hits; 0 to 1 of nothing."""
    sizes: dict[int, int] = defaultdict(int)
    counts: dict[int, int] = defaultdict(int)
    for fresh, hit in zip(drawn, hits, strict=True):
        sizes[fresh.member] += 1
        counts[fresh.member] += hit
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
        words = f"the {object_words(fresh.scene, fresh.index)}, {seen_words(*word.split(maxsplit=1))}"
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
