"""Step 3: fresh scenes of each component, judged by the truth that the renderer knows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from trex.inference.statistics.clustered import clustered_interval
from trex.repair.loaded import Progress
from trex.repair.records import Record, read_record, write_record
from trex.repair.scenes.distill import MIXTURE, SceneDistillResult, Situations
from trex.repair.scenes.distill import RESULT as DISTILLED
from trex.repair.scenes.draws import Fresh, Generator
from trex.repair.scenes.identify import DRAW, GROWN, SceneIdentifyResult
from trex.repair.scenes.identify import RESULT as IDENTIFIED
from trex.repair.scenes.loaded import SceneFolder, SceneLoaded
from trex.repair.scenes.mistakes import read_misreads
from trex.repair.scenes.reading import RIGHT
from trex.scenes.moves.small_changes import SmallChange

RESULT = "label.json"
SCENARIO, WEAK, NEITHER = "scenario", "weak scenario", "no scenario"
HALF = 0.5


class Verdict(Record):
    """A component's fresh scenes: how many, in how many the object is misread, with the interval of that share.

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
        hits = misread_in(drawn, loaded, progress, what)
        low, high = interval(drawn, hits)
        verdicts.append(
            Verdict(
                number=one.number,
                sentence=one.sentence,
                drawn=len(drawn),
                misread=sum(hits),
                low=low,
                high=high,
                inside=inside,
                kind=SCENARIO if low > HALF else WEAK if low > wanted.weak * prior else NEITHER,
            )
        )
    write_record(place / RESULT, SceneLabelResult(prior=prior, verdicts=verdicts))
    folder.finish("label")


def generator_of(folder: SceneFolder, loaded: SceneLoaded) -> Generator:
    """The generator of fresh scenes, from the members that the earlier steps have stored."""
    rows = read_misreads(folder.require("identify") / GROWN)
    situations = Situations(folder.require("distill") / MIXTURE, loaded.prior.vocabulary)
    change = SmallChange(loaded.prior.vocabulary, folder.query.identify.step)
    return Generator(rows, situations.members(rows), situations, change, folder.query.seed)


def misread_in(drawn: Sequence[Fresh], loaded: SceneLoaded, progress: Progress, what: str) -> list[bool]:
    """Whether the object in question is misread in each scene, at the look."""
    seen = loaded.seen([one.scene for one in drawn], progress, what)
    return [words[one.index] != RIGHT for one, words in zip(drawn, seen, strict=True)]


def interval(drawn: Sequence[Fresh], hits: Sequence[bool]) -> tuple[float, float]:
    """The 95 % interval of the share of hits; 0 to 1 of nothing."""
    sizes: dict[int, int] = defaultdict(int)
    counts: dict[int, int] = defaultdict(int)
    for one, hit in zip(drawn, hits, strict=True):
        sizes[one.member] += 1
        counts[one.member] += hit
    found = clustered_interval([counts[k] for k in sizes], list(sizes.values()))
    return found.low, found.high


def _skip_pictures(folder: SceneFolder) -> None:
    """There is nothing to draw for voters: the step only takes its place in the order."""
    if folder.begin("pictures") is not None:
        folder.finish("pictures")
