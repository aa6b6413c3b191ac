"""Kept pictures take a bounded amount of disk, and deleting them costs renders, never a run."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from tests.running.command_line import trex
from tests.worlds.render_worlds import prior_scenes
from trex.artifacts.cache import PICTURES
from trex.commands.cache import parse_age_s
from trex.foundation.errors import InputError
from trex.render.cache import CachedRenderer, entry_name
from trex.render.cache_folder import entries, parse_size, prune
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.scenes.scene import Scene, scene_id

DAY_S = 86_400.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's pictures: scene i was used i days ago."""
    monkeypatch.setenv("TREX_CACHE", str(tmp_path))
    renderer = CachedRenderer(FakeRenderer(), tmp_path / PICTURES)
    renderer.render(prior_scenes(6))
    for days, scene in enumerate(prior_scenes(6)):
        used = time.time() - days * DAY_S
        os.utime(renderer.path(entry_name(renderer.key, scene_id(scene))), (used, used))
    return tmp_path / PICTURES


def kept(folder: Path) -> list[int]:
    """The days of the pictures that are left."""
    return sorted(round((time.time() - entry.used) / DAY_S) for entry in entries(folder))


def cache_command(*words: object, fails: str = "") -> Result:
    result = trex("cache", *words)
    assert result.exit_code == (2 if fails else 0), result.output
    if fails:
        assert fails in result.stderr and result.stderr.count("\n") == 1
    return result


def test_cache_says_where_what_and_how_much(folder: Path) -> None:
    message = json.loads(cache_command("--json").stdout)
    (pictures,) = [part for part in message["parts"] if part["path"] == str(folder)]
    assert (pictures["files"], pictures["bytes"]) == (6, sum(entry.size for entry in entries(folder)))
    assert message["max_picture_bytes"] == 10 << 30
    text = cache_command().stdout
    (row,) = [line for line in text.splitlines() if str(folder) in line]
    assert row.split()[0] == "6" and "at most 10.0 GiB" in text


def test_prune_by_age_deletes_what_was_not_used_for_so_long(folder: Path) -> None:
    done = json.loads(cache_command("prune", "--older-than", "60h", "--json").stdout)
    assert kept(folder) == [0, 1, 2]
    assert (done["deleted"]["pictures"], done["left"]["pictures"]) == (3, 3)
    assert done["left"]["bytes"] == sum(entry.size for entry in entries(folder))


def test_prune_by_size_deletes_what_was_used_longest_ago(folder: Path) -> None:
    size = sum(entry.size for entry in entries(folder) if entry.used > time.time() - 1.5 * DAY_S)
    assert "deleted 4 pictures" in cache_command("prune", "--max-size", size).stdout
    assert kept(folder) == [0, 1]


def test_prune_without_options_keeps_what_is_below_the_bound(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "deleted 0 pictures (0 bytes); 6 pictures" in cache_command("prune").stdout
    monkeypatch.setenv("TREX_CACHE_MAX", "0")
    cache_command("prune")
    assert kept(folder) == []


def test_a_picture_that_is_given_out_counts_as_used(folder: Path) -> None:
    CachedRenderer(FakeRenderer(), folder).render(prior_scenes(6)[5:])
    prune(folder, None, time.time() - 0.5 * DAY_S)
    assert kept(folder) == [0, 0]


def test_prune_deletes_pictures_alone(folder: Path, tmp_path: Path) -> None:
    others = [
        folder / "ab" / "notes.picture",
        folder / "ab" / f"{'a' * 64}.txt",
        folder / f"{'a' * 64}.picture",
    ]
    (folder / "ab").mkdir(exist_ok=True)
    for other in others:
        other.write_text("")
    elsewhere = tmp_path / "elsewhere" / "ab"
    elsewhere.mkdir(parents=True)
    (elsewhere / f"{'b' * 64}.picture").write_text("")
    free = next(name for name in ("c0", "c1", "c2", "c3", "c4", "c5", "c6") if not (folder / name).exists())
    (folder / free).symlink_to(elsewhere)
    prune(folder, 0)
    assert all(other.exists() for other in others)
    assert (elsewhere / f"{'b' * 64}.picture").exists()


class Pruning:
    """A renderer that empties the cache folder each time it renders, as another program could."""

    def __init__(self, folder: Path) -> None:
        self.inner, self.folder = FakeRenderer(), folder

    @property
    def key(self) -> str:
        return self.inner.key

    def render(self, zs: Sequence[Scene]) -> Sequence[Picture]:
        prune(self.folder, 0)
        return self.inner.render(zs)

    def close(self) -> None:
        pass


def test_a_prune_while_pictures_are_taken_costs_renders_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trex.render.cache.CHUNK", 1)
    wanted = [*prior_scenes(6), *prior_scenes(3, seed=5)]
    pictures = CachedRenderer(Pruning(folder), folder).render(wanted)
    for picture, fresh in zip(pictures, FakeRenderer().render(wanted), strict=True):
        assert np.array_equal(picture.pixels, fresh.pixels) and picture.scene == fresh.scene


def test_a_picture_that_is_being_written_is_left_and_what_a_kill_left_is_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = folder / "ab" / ".tmp-left"
    left.parent.mkdir(exist_ok=True)
    left.write_text("half")
    with monkeypatch.context() as patch:
        patch.setattr("trex.render.cache.os.fsync", lambda _: prune(folder, 0))
        CachedRenderer(FakeRenderer(), folder).render(prior_scenes(1, seed=5))
    assert not left.exists()
    again = CachedRenderer(FakeRenderer(), folder)
    again.render(prior_scenes(1, seed=5))
    assert again.hits == 1


@pytest.mark.slow
def test_a_cache_stays_below_its_bound_and_keeps_what_was_used_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = CachedRenderer(FakeRenderer(), tmp_path)
    first.render(prior_scenes(6)[:1])
    each = entries(tmp_path)[0].size
    monkeypatch.setenv("TREX_CACHE_MAX", str(4 * each))
    many = prior_scenes(30, seed=9)
    CachedRenderer(FakeRenderer(), tmp_path).render(many)
    assert 0 < sum(entry.size for entry in entries(tmp_path)) <= 4 * each
    again = CachedRenderer(FakeRenderer(), tmp_path)
    again.render(many[-1:])
    assert again.hits == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["prune", "--max-size", "10X"], "--max-size '10X' is not a size"),
        (["prune", "--max-size", "-1"], "--max-size '-1' is not a size"),
        (["prune", "--older-than", "soon"], "--older-than 'soon' is not an age"),
        (["--json", "prune"], "--json must follow prune"),
        (["prune", "--folder", "/none/at/all"], "/none/at/all is not a folder"),
    ],
)
def test_sizes_ages_and_folders_that_are_none_are_refused_in_one_line(
    folder: Path, words: list[str], message: str
) -> None:
    cache_command(*words, fails=message)
    assert len(entries(folder)) == 6


def test_a_bound_that_is_no_size_is_refused_before_anything_is_rendered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREX_CACHE_MAX", "lots")
    with pytest.raises(InputError, match="TREX_CACHE_MAX 'lots' is not a size"):
        CachedRenderer(FakeRenderer(), tmp_path)


def test_sizes_and_ages_in_words() -> None:
    assert [parse_size(text, "") for text in ("7", "1.5k", "2 GiB", "1TB")] == [7, 1536, 2 << 30, 1 << 40]
    assert [parse_age_s(text) for text in ("12h", "30d", "2W")] == [43_200.0, 2_592_000.0, 1_209_600.0]
