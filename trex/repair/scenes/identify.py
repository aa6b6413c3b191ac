"""Step 1: objects that the model misreads in prior scenes and found ones, and in small changes of these scenes.

No label is carried over: of every changed scene the truth is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trex.inference.rng import stream
from trex.repair.loaded import Progress
from trex.repair.records import Record, write_record
from trex.repair.scenes.found import Members, stored_scenes
from trex.repair.scenes.loaded import SceneFolder, SceneLoaded
from trex.repair.scenes.mistakes import Misread, misread, write_misreads
from trex.repair.scenes.reading import RIGHT, Seen
from trex.scenes.moves.small_changes import SmallChange
from trex.scenes.scene import Scene, scene_id

RESULT = "identify.json"
GROWN, HELD = "mistakes.json", "held_out.json"
GROW, HOLD, DRAW, CHOOSE, TEST, DECIDE, TUNE, RAW, ASK, GROW_FOUND = range(10)  # streams of random numbers


class SceneIdentifyResult(Record):
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


def identify_scenes(folder: SceneFolder, loaded: SceneLoaded, progress: Progress) -> None:
    """Carry out the step, or resume it: pictures that are stored are not rendered again."""
    wanted = folder.query.identify
    place = folder.begin("identify")
    if place is None:
        return
    learning, held = learned(folder), held_out(folder)
    found = stored_scenes(place, wanted.runs, loaded.prior.vocabulary, lambda: _members(folder, loaded))
    seen = loaded.seen_of_bank(learning, progress, "prior scenes")
    plain = misreads(loaded.members(learning), seen, learning)
    grow = _Grow(folder, loaded, progress)
    grown = grow.all(plain, _keys(GROW, plain), "changed scenes")
    scenes = [one.value for one in found]
    met = misreads(scenes, loaded.seen(scenes, progress, "found scenes"), [one.member for one in found])
    keys = [(GROW_FOUND, number) for number in range(len(met))]  # scenes of a chain share its member
    grown += grow.all(met, keys, "changed found scenes")
    perturbed, still, invalid = grow.perturbed, len(grown), grow.invalid
    apart = misreads(loaded.members(held), loaded.seen_of_bank(held, progress, "held-out scenes"), held)
    changed = _Grow(folder, loaded, progress).all(apart, _keys(HOLD, apart), "changed held-out scenes")
    kept_apart = [*apart, *changed]
    write_misreads(place / GROWN, [*plain, *met, *grown])
    write_misreads(place / HELD, kept_apart)
    kinds = Counter(one.seen.split()[0] for one in plain)
    write_record(
        place / RESULT,
        SceneIdentifyResult(
            scenes=wanted.seeds,
            objects=sum(map(len, seen)),
            misread=len(plain),
            kinds=dict(sorted(kinds.items())),
            perturbed=perturbed,
            still=still,
            invalid=invalid,
            held_out=len(kept_apart),
            found=len(found),
            found_misread=len(met),
        ),
    )
    folder.finish("identify")


def learned(folder: SceneFolder) -> range:
    """The bank's members from which mistakes grow and the model learns."""
    return range(folder.query.identify.seeds)


def held_out(folder: SceneFolder) -> range:
    """Those that give mistakes for the test alone."""
    start = learned(folder).stop
    return range(start, start + folder.query.identify.held_out)


def validation(folder: SceneFolder) -> range:
    """Those that only judge."""
    start = held_out(folder).stop
    return range(start, start + folder.query.identify.validation)


def further(folder: SceneFolder, n: int) -> range:
    """Ordinary ones that nothing else uses."""
    start = validation(folder).stop
    return range(start, start + n)


def _members(folder: SceneFolder, loaded: SceneLoaded) -> Members:
    """The ids of all prior scenes of a repair."""
    most = further(folder, folder.query.correct.most * folder.query.correct.pictures)
    judging = range(held_out(folder).start, most.stop)
    return Members(
        {scene_id(scene): number for number, scene in enumerate(loaded.members(learned(folder)))},
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
    return [(purpose, one.member, one.index) for one in plain]


class _Grow:
    """Perturbs the scenes of misread objects, and counts."""

    def __init__(self, folder: SceneFolder, loaded: SceneLoaded, progress: Progress) -> None:
        self._folder, self._loaded, self._progress = folder, loaded, progress
        self.perturbed = self.invalid = 0

    def all(self, plain: Sequence[Misread], keys: Sequence[tuple[int, ...]], what: str) -> list[Misread]:
        """The changed scenes in which the object is still misread, in whatever way; each object has its own key."""
        wanted, seed = self._folder.query.identify, self._folder.query.seed
        change = SmallChange(self._loaded.prior.vocabulary, wanted.step)
        drawn: list[tuple[Misread, Scene]] = []
        for one, key in zip(plain, keys, strict=True):
            rng = stream(seed, *key)
            for _ in range(wanted.draws):
                scene, invalid = change.draw(rng, one.value)
                self.invalid += invalid
                drawn += [(one, scene)] if scene is not None else []
        self.perturbed += len(drawn)
        seen = self._loaded.seen([scene for _, scene in drawn], self._progress, what)
        return [
            misread(scene, one.index, words[one.index], one.member, is_grown=True)
            for (one, scene), words in zip(drawn, seen, strict=True)
            if words[one.index] != RIGHT
        ]
