"""Step 1: objects that the model misreads in prior scenes and found ones, and in small changes of these scenes.

No label is carried over: of every changed scene the truth is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from trex.foundation.progress import Progress
from trex.foundation.words import counted, percent
from trex.inference.rng import stream
from trex.repair.domain import Work
from trex.repair.files import Found, read_record, write_record
from trex.repair.scenes.found import (
    FIRST,
    FOUND,
    Stored,
    StoredScene,
    found_scenes,
    scene_fields,
    store_scenes,
    stored_scenes,
)
from trex.repair.scenes.loaded import Folder, SceneLoaded, SceneStream
from trex.repair.scenes.reading import RIGHT, Seen
from trex.repair.settings import SceneQuery
from trex.scenes.moves.small_changes import SmallChange
from trex.scenes.scene import Scene, scene_id
from trex.scenes.vocabulary import CLEVR

GROWN, HELD = "mistakes.json", "held_out.json"
Changed = tuple[list["Misread"], int, int]  # misread objects, and how many changes were valid and invalid


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
    """An object that the model misread: its scene, its number there, and what it was taken for."""

    index: int
    seen: str
    is_grown: bool

    @property
    def is_ordinary(self) -> bool:
        """Whether it is in a prior scene as that was drawn."""
        return not self.is_grown and self.member < FIRST


def misread(scene: Scene, index: int, seen: str, member: int, *, is_grown: bool) -> Misread:
    return Misread(scene=scene_fields(scene), index=index, seen=seen, member=member, is_grown=is_grown)


def read_misreads(path: Path) -> list[Misread]:
    """The misread objects in a file; RunError if it is damaged."""
    return read_record(Stored[Misread], path).rows


def grow(folder: Folder, loaded: SceneLoaded) -> Work:
    """The step; pictures that are stored are not rendered again."""
    query, wanted = folder.query, folder.query.identify
    learning, held = learned(query), held_out(query)

    def carry_out(place: Path, progress: Progress) -> SceneIdentifyResult:
        if wanted.runs and not (place / FOUND).exists():
            store_scenes(place, found_scenes(wanted.runs, loaded.prior.vocabulary, *_ids(query, loaded)))
        found = stored_scenes(place)

        def grown(plain: Sequence[Misread], keys: Sequence[tuple[int, ...]], what: str) -> Changed:
            return _changed(query, plain, keys, lambda scenes: loaded.seen(scenes, progress, what))

        seen = loaded.seen_of_bank(learning, progress, "prior scenes")
        plain = misreads(loaded.members(learning), seen, learning)
        changed = grown(plain, _keys(SceneStream.GROW, plain), "changed scenes")
        scenes = [each.value for each in found]
        met = misreads(scenes, loaded.seen(scenes, progress, "found scenes"), [each.member for each in found])
        keys = [
            (SceneStream.GROW_FOUND, number) for number in range(len(met))
        ]  # scenes of a chain share a member
        further = grown(met, keys, "changed found scenes")
        apart = misreads(loaded.members(held), loaded.seen_of_bank(held, progress, "held-out scenes"), held)
        judging, *_ = grown(apart, _keys(SceneStream.HOLD, apart), "changed held-out scenes")
        rows = [*changed[0], *further[0]]
        write_record(place / GROWN, Stored[Misread](rows=[*plain, *met, *rows]))
        write_record(place / HELD, Stored[Misread](rows=[*apart, *judging]))
        kinds = Counter(each.seen.split()[0] for each in plain)
        return SceneIdentifyResult(
            scenes=wanted.seeds,
            objects=sum(map(len, seen)),
            misread=len(plain),
            kinds=dict(sorted(kinds.items())),
            perturbed=changed[1] + further[1],
            still=len(rows),
            invalid=changed[2] + further[2],
            held_out=len(apart) + len(judging),
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


def _ids(query: SceneQuery, loaded: SceneLoaded) -> tuple[dict[str, int], set[str]]:
    """The ids of a repair's prior scenes: those that it learns from, with their numbers, and those that only judge."""
    most = further(query, query.correct.most * query.correct.pictures)
    judging = range(held_out(query).start, most.stop)
    return (
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


def _changed(
    query: SceneQuery,
    plain: Sequence[Misread],
    keys: Sequence[tuple[int, ...]],
    read: Callable[[Sequence[Scene]], Sequence[Seen]],
) -> Changed:
    """The changed scenes in which the object is still misread, in whatever way; each object has its own key."""
    change = SmallChange(CLEVR, query.identify.step)
    drawn: list[tuple[Misread, Scene]] = []
    n_invalid = 0
    for row, key in zip(plain, keys, strict=True):
        rng = stream(query.seed, *key)
        for _ in range(query.identify.draws):
            scene, invalid = change.draw(rng, row.value)
            n_invalid += invalid
            drawn += [(row, scene)] if scene is not None else []
    seen = read([scene for _, scene in drawn])
    rows = [
        misread(scene, row.index, words[row.index], row.member, is_grown=True)
        for (row, scene), words in zip(drawn, seen, strict=True)
        if words[row.index] != RIGHT
    ]
    return rows, len(drawn), n_invalid
