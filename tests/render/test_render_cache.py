"""Kept pictures: found again, never believed without a check, written whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import pickle
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.worlds.render_worlds import prior_scenes, three_objects
from trex.foundation.errors import InputError
from trex.render.cache import MAGIC, SIZE, CachedRenderer, decode, entry_name
from trex.render.fake import FakeRenderer
from trex.scenes.scene import scene_id


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_each_scene_is_rendered_once(tmp_path: Path) -> None:
    first = CachedRenderer(FakeRenderer(), tmp_path)
    fresh = first.render([prior_scenes(3)[0], prior_scenes(3)[1], prior_scenes(3)[0]])
    assert (first.misses, first.hits) == (2, 1)
    second = CachedRenderer(FakeRenderer(), tmp_path)
    kept = second.render([prior_scenes(3)[1], prior_scenes(3)[0], prior_scenes(3)[2]])
    assert (second.misses, second.hits) == (1, 2)
    assert np.array_equal(kept[0].pixels, fresh[1].pixels) and np.array_equal(kept[1].mask, fresh[0].mask)
    assert [picture.scene for picture in kept] == [
        scene_id(z) for z in (prior_scenes(3)[1], prior_scenes(3)[0], prior_scenes(3)[2])
    ]
    assert len(entries(tmp_path)) == 3  # and no temporary file


def test_another_renderer_finds_nothing_of_the_first(tmp_path: Path) -> None:
    CachedRenderer(FakeRenderer(), tmp_path).render(prior_scenes(3))
    other = CachedRenderer(FakeRenderer(60, 40), tmp_path)
    assert other.render(prior_scenes(3))[0].mask.shape == (40, 60) and other.hits == 0


def test_any_damage_is_noticed_and_rendered_again(tmp_path: Path) -> None:
    renderer = CachedRenderer(FakeRenderer(), tmp_path)
    whole = renderer.render(prior_scenes(3)[:2])[0]
    path, other = (renderer.path(entry_name(renderer.key, scene_id(scene))) for scene in prior_scenes(3)[:2])
    good, wrong_place = path.read_bytes(), other.read_bytes()
    rng = np.random.default_rng(7)
    damaged = [b"", good[:-1], good[:40], good[:60], pickle.dumps(good), wrong_place, bytes(len(good))]
    for position in rng.integers(0, len(good), size=40):
        flipped = bytearray(good)
        flipped[position] ^= 1 << int(rng.integers(8))
        damaged.append(bytes(flipped))
    for data in damaged:
        path.write_bytes(data)
        again = CachedRenderer(FakeRenderer(), tmp_path)
        assert np.array_equal(again.render(prior_scenes(3)[:1])[0].pixels, whole.pixels)
        assert again.misses == 1 and path.read_bytes() == good


@pytest.mark.parametrize(
    "inside", [b"", bytes(8), bytes(8) + b"no deflate", SIZE.pack(2, 2) + zlib.compress(bytes(9))]
)
def test_a_checksum_makes_no_picture(inside: bytes) -> None:
    with pytest.raises(ValueError):
        decode(MAGIC + hashlib.sha256(b"name" + inside).digest() + inside, "name", "scene")


def test_a_full_disk_costs_the_cache_not_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("trex.render.cache.os.fsync", full)
    renderer = CachedRenderer(FakeRenderer(), tmp_path)
    assert len(renderer.render(prior_scenes(3))) == 3
    assert entries(tmp_path) == []
    assert "No space left" in caplog.text


def test_a_failure_late_in_a_list_keeps_what_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trex.render.cache.CHUNK", 2)
    inner = FakeRenderer()
    renderer = CachedRenderer(inner, tmp_path)
    bad = three_objects()
    bad = type(bad)(
        (bad.objects[0].__class__("corgi", "large", "red", "rubber", 0.0, 0.0, 0.0),), bad.nuisances
    )
    with pytest.raises(InputError):
        renderer.render([*prior_scenes(3)[:2], bad])
    assert len(entries(tmp_path)) == 2


def test_a_cache_where_no_folder_can_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"make the folder above it writable, or name another \(TREX_CACHE"):
        CachedRenderer(FakeRenderer(), tmp_path / "file" / "cache")
