"""Step 1: objects that the model misreads in prior scenes and found ones, and in small changes of these scenes.

No label is carried over: of every changed scene the truth is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from trex.foundation.percent import percent
from trex.foundation.progress import Progress
from trex.foundation.words import counted
from trex.inference.rng import stream
from trex.repair.domain import Work
from trex.repair.files import Found, Record, read_record, write_record
from trex.repair.scenes.found import FIRST, Members, StoredScene, scene_fields, stored_scenes
from trex.repair.scenes.loaded import Folder, SceneLoaded, Stream
from trex.repair.scenes.reading import RIGHT, Seen
from trex.repair.settings import SceneQuery
from trex.scenes.moves.small_changes import SmallChange
from trex.scenes.scene import Scene, scene_id

GROWN, HELD = "mistakes.json", "held_out.json"


class SceneIdentifyResult(Found):
    """Objects of the prior scenes, how many are misread and in what way; and what became of the changed ones.

    `perturbed` small changes of scenes with a misread object, of which `still` misread it and `invalid` were redrawn.
    `found` scenes of runs have `found_misread` misread objects, which count in `perturbed` and `still` too.
    """

    scenes: int
    objects: int
    misread: int
    kinds: dict[str, int]
    perturbed: int
    still: int
    invalid: int
    held_out: int
    found: int = 0
    found_misread: int = 0

    @property
    def sentences(self) -> list[str]:
        kinds = ", ".join(f"{name} {n}" for name, n in self.kinds.items())
        still = percent(self.still / self.perturbed) if self.perturbed else "none"
        share = percent(self.misread / max(1, self.objects))
        of_runs = (
            f" In {counted(self.found, 'found scene')} of runs it misreads {counted(self.found_misread, 'object')}."
            if self.found
            else ""
        )
        return [
            f"Of {counted(self.objects, 'object')} in {counted(self.scenes, 'prior scene')} the model misreads "
            f"{self.misread:,} ({share}; {kinds}).{of_runs} Small changes of these scenes: {self.perturbed:,}, of "
            f"which {self.still:,} ({still}) keep the object misread. Held out: {counted(self.held_out, 'mistake')}."
        ]


class Misread(StoredScene):
    """An object that the model misread: its scene, its number there, and what it was taken for.

    `member` is the prior scene that this one is or was grown from, or the chain of a run that found that scene.
    """

    index: int
    seen: str
    member: int
    is_grown: bool

    @property
    def is_ordinary(self) -> bool:
        """Whether it is in a prior scene as that was drawn."""
        return not self.is_grown and self.member < FIRST


class Misreads(Record):
    """A file's worth of them."""

    rows: list[Misread]


def misread(scene: Scene, index: int, seen: str, member: int, *, is_grown: bool) -> Misread:
    return Misread(scene=scene_fields(scene), index=index, seen=seen, member=member, is_grown=is_grown)


def read_misreads(path: Path) -> list[Misread]:
    """The misread objects in a file; RunError if it is damaged."""
    return read_record(Misreads, path).rows


def grow(folder: Folder, loaded: SceneLoaded) -> Work:
    """The step; pictures that are stored are not rendered again."""
    wanted = folder.query.identify
    learning, held = learned(folder.query), held_out(folder.query)

    def carry_out(place: Path, progress: Progress) -> SceneIdentifyResult:
        vocabulary = loaded.prior.vocabulary
        found = stored_scenes(place, wanted.runs, vocabulary, lambda: _members(folder.query, loaded))
        seen = loaded.seen_of_bank(learning, progress, "prior scenes")
        plain = misreads(loaded.members(learning), seen, learning)
        grow = _Grow(folder.query, loaded, progress)
        grown = grow.all(plain, _keys(Stream.GROW, plain), "changed scenes")
        scenes = [each.value for each in found]
        met = misreads(scenes, loaded.seen(scenes, progress, "found scenes"), [each.member for each in found])
        keys = [
            (Stream.GROW_FOUND, number) for number in range(len(met))
        ]  # scenes of a chain share its member
        grown += grow.all(met, keys, "changed found scenes")
        apart = misreads(loaded.members(held), loaded.seen_of_bank(held, progress, "held-out scenes"), held)
        changed = _Grow(folder.query, loaded, progress).all(
            apart, _keys(Stream.HOLD, apart), "changed held-out scenes"
        )
        write_record(place / GROWN, Misreads(rows=[*plain, *met, *grown]))
        write_record(place / HELD, Misreads(rows=[*apart, *changed]))
        kinds = Counter(each.seen.split()[0] for each in plain)
        return SceneIdentifyResult(
            scenes=wanted.seeds,
            objects=sum(map(len, seen)),
            misread=len(plain),
            kinds=dict(sorted(kinds.items())),
            perturbed=grow.perturbed,
            still=len(grown),
            invalid=grow.invalid,
            held_out=len(apart) + len(changed),
            found=len(found),
            found_misread=len(met),
        )

    return carry_out


def learned(query: SceneQuery) -> range:
    """The bank's members from which mistakes grow and the model learns."""
    return range(query.identify.seeds)


def held_out(query: SceneQuery) -> range:
    """Those that give mistakes for the test alone."""
    start = learned(query).stop
    return range(start, start + query.identify.held_out)


def validation(query: SceneQuery) -> range:
    """Those that only judge."""
    start = held_out(query).stop
    return range(start, start + query.identify.validation)


def further(query: SceneQuery, n: int) -> range:
    """Ordinary ones that nothing else uses."""
    start = validation(query).stop
    return range(start, start + n)


def _members(query: SceneQuery, loaded: SceneLoaded) -> Members:
    """The ids of all prior scenes of a repair."""
    most = further(query, query.correct.most * query.correct.pictures)
    judging = range(held_out(query).start, most.stop)
    return Members(
        {scene_id(scene): number for number, scene in enumerate(loaded.members(learned(query)))},
        {scene_id(scene) for scene in loaded.members(judging)},
    )


def misreads(scenes: Sequence[Scene], seen: Sequence[Seen], members: Sequence[int]) -> list[Misread]:
    """The misread objects of these scenes, each with its scene's member."""
    return [
        misread(scene, index, word, member, is_grown=False)
        for scene, words, member in zip(scenes, seen, members, strict=True)
        for index, word in enumerate(words)
        if word != RIGHT
    ]


def _keys(purpose: int, plain: Sequence[Misread]) -> list[tuple[int, ...]]:
    """The key of random numbers for each misread object of prior scenes."""
    return [(purpose, row.member, row.index) for row in plain]


class _Grow:
    """Perturbs the scenes of misread objects, and counts."""

    def __init__(self, query: SceneQuery, loaded: SceneLoaded, progress: Progress) -> None:
        self._query, self._loaded, self._progress = query, loaded, progress
        self.perturbed = self.invalid = 0

    def all(self, plain: Sequence[Misread], keys: Sequence[tuple[int, ...]], what: str) -> list[Misread]:
        """The changed scenes in which the object is still misread, in whatever way; each object has its own key."""
        wanted, seed = self._query.identify, self._query.seed
        change = SmallChange(self._loaded.prior.vocabulary, wanted.step)
        drawn: list[tuple[Misread, Scene]] = []
        for row, key in zip(plain, keys, strict=True):
            rng = stream(seed, *key)
            for _ in range(wanted.draws):
                scene, invalid = change.draw(rng, row.value)
                self.invalid += invalid
                drawn += [(row, scene)] if scene is not None else []
        self.perturbed += len(drawn)
        seen = self._loaded.seen([scene for _, scene in drawn], self._progress, what)
        return [
            misread(scene, row.index, words[row.index], row.member, is_grown=True)
            for (row, scene), words in zip(drawn, seen, strict=True)
            if words[row.index] != RIGHT
        ]
