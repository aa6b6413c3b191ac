"""A world of somebody's own as its run folder tells of it: enough to read the draws, without its code."""

from __future__ import annotations

from dataclasses import dataclass

from trex.foundation.errors import InputError
from trex.query.resolved import ResolvedQuery
from trex.query.schema import Query, Section
from trex.worlds.description import Noun
from trex.worlds.shipped.clevr import ClevrWorld
from trex.worlds.vectors import VectorParts, VectorWorld
from trex.worlds.world import World


class WorldFacts(Section):
    """What a world of somebody's own says of itself, so that its runs can be read without its code."""

    one: str  # what a latent is called once it is rendered
    many: str
    scope: str
    has_scenes: bool


@dataclass(frozen=True)
class RecordedVectors(VectorWorld):
    """Read as a world of vectors; `said` is its scope in words, "" in a run that did not record it."""

    said: str = ""

    def scope(self, query: Query) -> str:
        """As the world put it when the run was made."""
        return self.said or super().scope(query)

    def remarks(self, resolved: ResolvedQuery) -> tuple[str, ...]:
        """That its code was not asked."""
        return (
            f"This was read without the code of {self.name}: true answers and words of its own are not shown, and "
            "pictures count as distinct by the general rule for vectors.",
            *super().remarks(resolved),
        )


@dataclass(frozen=True)
class RecordedScenes(ClevrWorld):
    """Read as a world of CLEVR's scenes; `said` is its scope in words."""

    said: str = ""

    def scope(self, query: Query) -> str:
        """As the world put it when the run was made."""
        return self.said

    def remarks(self, resolved: ResolvedQuery) -> tuple[str, ...]:
        """That its code was not asked."""
        return (
            f"This was read without the code of {self.name}: true answers are those of the question's program, and "
            "scenes count as distinct by the general rule.",
        )


def recorded_world(name: str, question: str, world: WorldFacts | None) -> World:
    """The world of a run by what its manifest records: the name in [generator], the question, the world's facts."""
    if world is None:
        return RecordedVectors(name, question, "pictures", _no_code)
    noun = Noun(world.one, world.many)
    if world.has_scenes:
        return RecordedScenes(name, noun=noun, said=world.scope)
    return RecordedVectors(name, question, world.many, _no_code, noun=noun, said=world.scope)


def _no_code(query: Query) -> VectorParts:
    raise InputError(f"the code of generator {query.generator.name!r} is not loaded to read a run")
