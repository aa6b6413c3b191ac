"""Ladders of the fake world's looks, some of them useless."""

from __future__ import annotations

import pytest

from trex.worlds import looks, world

TINY, SMALL = "fake-tiny", "fake-small"  # of six pixels, which say nothing; half as wide as the deciding look


def use_ladder(patch: pytest.MonkeyPatch, *names: str) -> None:
    """From now on the fake world's cheap looks are these, cheapest first."""
    patch.setitem(world.WITHOUT_BLENDER, TINY, (3, 2))
    patch.setitem(looks.LADDERS, "fake", names)
