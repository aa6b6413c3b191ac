"""The scenes that runs have found, from which mistakes grow beside those of the prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Generic, TypeVar, cast

from pydantic import JsonValue

from trex.foundation.errors import InputError
from trex.foundation.files import from_home
from trex.repair.files import Record, read_fields, read_record, write_record
from trex.repair.folder import KEY
from trex.runs.draw_log import run_draws
from trex.runs.folder import open_run
from trex.runs.record import RANDOM
from trex.scenes.scene import Scene, scene_from_dict, scene_id, scene_to_dict
from trex.scenes.vocabulary import Vocabulary
from trex.search.results import read_results

FOUND = "found.json"
FIRST = 1 << 32  # the number of the first chain, above those of all prior scenes
R = TypeVar("R", bound=Record)


class StoredScene(Record):
    """A scene, and the prior scene that it is or was grown from, or else the chain of a run that found that one."""

    scene: dict[str, JsonValue]
    member: int

    @property
    def value(self) -> Scene:
        return scene_from_dict(self.scene)


class FoundScene(StoredScene):
    """A found scene and its run."""

    run: str


class Stored(Record, Generic[R]):
    """A file's worth of records."""

    rows: list[R]


def found_scenes(
    runs: Sequence[str],
    vocabulary: Vocabulary,
    learned: Mapping[str, int] | None = None,
    judging: Set[str] = frozenset(),
) -> list[FoundScene]:
    """The distinct found scenes of runs; those of one start are one member, that of a prior scene among them if one is.

    `learned` are the ids of the prior scenes that the repair learns from, with their numbers; `judging` those of the
    ones that only judge. RunError for a folder that is no run; InputError for a run without scenes, one that has found
    nothing, a scene with a shape that the model has no word for, and a run that began at scenes by which the repair is
    judged.
    """
    rows: list[FoundScene] = []
    taken: set[str] = set()
    members: dict[tuple[str, int], int] = {}
    for run in runs:
        with open_run(from_home(Path(run)), for_writing=False) as folder:
            if not folder.manifest.facts.cards:
                raise InputError(
                    f"identify.runs: {run} has no scenes but {folder.manifest.query.generator.name}"
                )
            records = run_draws(folder)
            results = read_results(folder.manifest, records)
            hits = results.found
        if any(scene_id(draw.z) in judging for draw in records if draw.phase in RANDOM):
            raise InputError(
                f"identify.runs: {run} drew prior scenes by which this repair is judged; search with another "
                "search.bank_seed, or with a search.bank of at most identify.seeds"
            )
        if not hits:
            raise InputError(f"identify.runs: {run} has found no scene; leave it out")
        starts = results.families.clusters
        known = {
            start: learned[name]
            for hit, start in zip(hits, starts, strict=True)
            if learned and (name := scene_id(hit.record.z)) in learned
        }
        for hit, start in zip(hits, starts, strict=True):
            scene = hit.record.z
            _check(scene, vocabulary, run)
            if (name := scene_id(scene)) in taken:
                continue
            taken.add(name)
            member = (learned or {}).get(name, known.get(start, -1))
            if member < 0:
                member = members.setdefault((run, start), FIRST + len(members))
            rows.append(FoundScene(run=run, member=member, scene=scene_fields(scene)))
    return rows


def stored_scenes(place: Path) -> list[FoundScene]:
    """Those that the step in this folder has read from runs: a run may be resumed meanwhile."""
    path = place / FOUND
    return read_record(Stored[FoundScene], path).rows if path.exists() else []


def has_stored(place: Path, runs: Sequence[str]) -> bool:
    """Whether a step's folder holds the scenes of these runs."""
    found: object = read_fields(place / KEY)
    for name in ("settings", "section", "runs"):
        found = found.get(name) if isinstance(found, dict) else None
    return (place / FOUND).exists() and found == list(runs)


def store_scenes(place: Path, rows: list[FoundScene]) -> None:
    write_record(place / FOUND, Stored[FoundScene](rows=rows))


def scene_fields(scene: Scene) -> dict[str, JsonValue]:
    return cast(dict[str, JsonValue], scene_to_dict(scene))


def _check(scene: Scene, vocabulary: Vocabulary, run: str) -> None:
    for item in scene.objects:
        if not vocabulary.allows(item):  # CLEVR's lacks introduced shapes alone
            raise InputError(
                f"identify.runs: {run} has a {item.shape}, a shape that CLEVR's models have no word for; leave it out"
            )
