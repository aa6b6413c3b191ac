"""A world of somebody's own as its run folder tells of it: enough to read the draws, without its code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trex.foundation.errors import InputError
from trex.query.schema import Query
from trex.worlds.clevr import ClevrKind
from trex.worlds.vectors import VectorKind, VectorParts
from trex.worlds.world import Noun, WorldKind

if TYPE_CHECKING:
    from trex.runs.manifest import Manifest


@dataclass(frozen=True)
class RecordedKind(VectorKind):
    """Read as a world of vectors; `said` is its scope in words, "" in a run that did not record it."""

    said: str = ""

    def scope(self, query: Query) -> str:
        """As the world put it when the run was made."""
        return self.said or super().scope(query)

    def remarks(self, manifest: Manifest) -> tuple[str, ...]:
        """That its code was not asked."""
        return (
            f"This was read without the code of {self.name}: true answers and words of its own are not shown, and "
            "pictures count as distinct by the general rule for vectors.",
            *super().remarks(manifest),
        )


@dataclass(frozen=True)
class RecordedScenes(ClevrKind):
    """Read as a world of CLEVR's scenes; `said` is its scope in words."""

    said: str = ""

    def scope(self, query: Query) -> str:
        """As the world put it when the run was made."""
        return self.said

    def remarks(self, manifest: Manifest) -> tuple[str, ...]:
        """That its code was not asked."""
        return (
            f"This was read without the code of {self.name}: true answers are those of the question's program, and "
            "scenes count as distinct by the general rule.",
        )


def recorded_kind(manifest: Manifest) -> WorldKind:
    """The kind of world of a run, by what its manifest records."""
    name, world = manifest.query.generator.name, manifest.facts.world
    if world is None:
        return RecordedKind(name, manifest.facts.question, "pictures", _no_code)
    noun = Noun(world.one, world.many)
    if world.has_scenes:
        return RecordedScenes(name, noun=noun, said=world.scope)
    return RecordedKind(name, manifest.facts.question, world.many, _no_code, noun=noun, said=world.scope)


def _no_code(query: Query) -> VectorParts:
    raise InputError(f"the code of generator {query.generator.name!r} is not loaded to read a run")
