"""Memory that pictures leave behind in pieces goes back to the system."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from tests.worlds.render_worlds import prior_scenes
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.render.blender_child.main import EVERY, give_back_free_memory
from trex.render.presets import Preset

MIB = 1 << 20
PIECE = 64_000  # bytes: small enough to come from the heap
TINY = Preset("tiny", 24, 16, 1, "fast")


def resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / MIB


@pytest.fixture
def libc() -> ctypes.CDLL:
    found = ctypes.CDLL(None)
    if not hasattr(found, "malloc_trim"):
        pytest.skip("this system's C library has no malloc_trim")
    found.malloc.restype = ctypes.c_void_p
    found.free.argtypes = [ctypes.c_void_p]
    return found


def test_freed_pieces_between_others_that_stay_are_given_back(libc: ctypes.CDLL) -> None:
    pieces = [libc.malloc(PIECE) for _ in range(2000)]
    for piece in pieces:
        ctypes.memset(piece, 1, PIECE)
    kept = pieces[::20] + pieces[-1:]
    for piece in set(pieces) - set(kept):
        libc.free(piece)
    before = resident_mib()
    assert give_back_free_memory()
    assert resident_mib() < before - 50
    for piece in kept:
        libc.free(piece)


@pytest.mark.slow
@pytest.mark.process
def test_a_blender_process_gives_back_what_pictures_left(libc: ctypes.CDLL) -> None:
    scenes = prior_scenes(6)
    with BlenderRenderer(TINY, "cpu", threads=1) as blender:
        timed = blender.render_timed([scenes[place % len(scenes)] for place in range(EVERY)])
        assert len(blender.process_ids()) == 1
    resident = [stats.rss_bytes / MIB for _, stats in timed]
    assert resident[-1] < max(resident[:-1]) - 2
