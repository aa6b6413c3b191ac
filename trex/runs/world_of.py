"""The world that reads a run's draws: a shipped one by name, any other from its manifest."""

from __future__ import annotations

from trex.runs.manifest import Manifest
from trex.worlds.recorded import recorded_world
from trex.worlds.registry import LOADED, is_shipped, world_named
from trex.worlds.world import World


def world_of(manifest: Manifest) -> World:
    """The world of the run; loads no third-party code."""
    name = manifest.query.generator.name
    if is_shipped(name):
        return world_named(name)
    return LOADED.get(name) or recorded_world(name, manifest.facts.question, manifest.facts.world)
