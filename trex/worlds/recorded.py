"""A user-defined world as its run folder records it: enough to read the draws without loading its code."""

from __future__ import annotations

from dataclasses import dataclass

from trex.foundation.errors import InputError
from trex.foundation.fields import Plain
from trex.query.resolved import ResolvedQuery
from trex.query.schema import Query, Section
from trex.worlds.description import Noun
from trex.worlds.latents import Latent
from trex.worlds.shipped.clevr import ClevrWorld
from trex.worlds.vectors import VectorParts, VectorWorld
from trex.worlds.world import World

UNREAD = "This was read without the code of"  # begins what such a run says of itself


class WorldFacts(Section):
    """What a user-defined world records about itself, so that its runs can be read without its code."""

    one: Plain  # the noun for a rendered latent
    many: Plain
    scope: Plain
    has_scenes: bool


@dataclass(frozen=True)
class RecordedVectors(VectorWorld):
    """A user-defined world, read as a world of vectors; `said` is its recorded scope, "" if the run has none."""

    said: str = ""

    def scope(self, query: Query) -> str:
        """The scope that the world gave when the run was made."""
        return self.said or super().scope(query)

    def remarks(self, resolved: ResolvedQuery) -> tuple[str, ...]:
        """One sentence: the world's code was not loaded."""
        return (
            f"{UNREAD} {self.name}: true answers and words of its own are not shown, and "
            "pictures count as distinct by the general rule for vectors.",
            *super().remarks(resolved),
        )


@dataclass(frozen=True)
class RecordedScenes(ClevrWorld):
    """A user-defined world, read as a world of CLEVR's scenes; `said` is its recorded scope."""

    said: str = ""

    def scope(self, query: Query) -> str:
        """The scope that the world gave when the run was made."""
        return self.said

    def remarks(self, resolved: ResolvedQuery) -> tuple[str, ...]:
        """One sentence: the world's code was not loaded."""
        return (
            f"{UNREAD} {self.name}: true answers are those of the question's program, and "
            "scenes count as distinct by the general rule.",
            *super().remarks(resolved),
        )


def recorded_world(name: str, question: str, world: WorldFacts | None) -> World[Latent]:
    """The world of a run, from its manifest: the name in [generator], the question and the world's recorded facts."""
    if world is None:
        return RecordedVectors(name, question, "pictures", _no_code)
    noun = Noun(world.one, world.many)
    if world.has_scenes:
        return RecordedScenes(name, noun=noun, said=world.scope)
    return RecordedVectors(name, question, world.many, _no_code, noun=noun, said=world.scope)


def _no_code(query: Query) -> VectorParts:
    raise InputError(f"the code of generator {query.generator.name!r} is not loaded to read a run")
