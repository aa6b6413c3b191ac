"""The world that a run's draws are read with: ours by its name, another user's as its manifest records it."""

from __future__ import annotations

from trex.runs.manifest import Manifest
from trex.worlds.recorded import recorded_world
from trex.worlds.registry import LOADED, is_shipped, world_named
from trex.worlds.world import World


def world_of(manifest: Manifest) -> World:
    """The world that was searched; no code of a user's own is loaded for it."""
    name = manifest.query.generator.name
    if is_shipped(name):
        return world_named(name)
    return LOADED.get(name) or recorded_world(name, manifest.facts.question, manifest.facts.world)
