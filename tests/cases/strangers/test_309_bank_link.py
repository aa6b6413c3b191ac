"""In a bank's folder, which people may share, no link is followed: nothing is read, written or counted through one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.running.command_line import refused, trex, trex_done
from trex.bank.bank import Bank, bank_of
from trex.bank.disk import stored_banks
from trex.bank.named import bank_world
from trex.foundation.errors import RunError, TrexError
from trex.render.cache import CachedRenderer
from trex.render.fake import FakeRenderer
from trex.scenes.prior import ScenePrior

N = 2
QUERY = 'question = "How many cubes are there?"\nanswer = "1"\n[scene]\nobjects = 3\n'


@pytest.fixture
def prior(tmp_path: Path) -> ScenePrior:
    (tmp_path / "q.toml").write_text(QUERY)
    return bank_world(tmp_path / "q.toml", [])


def filled(prior: ScenePrior, folder: Path) -> Bank:
    with bank_of(prior, "fake", folder) as bank:
        bank.render(N)
    return bank


@pytest.fixture
def names(prior: ScenePrior, tmp_path: Path) -> tuple[str, str, list[Path]]:
    """The names of a bank's scenes, of its folder, and of its pictures."""
    bank = filled(prior, tmp_path / "first")
    pictures = [path.relative_to(bank.path) for path in bank.path.rglob("*.picture")]
    return bank._drawn.path.name, bank.path.name, pictures


def test_scenes_are_not_appended_to_the_file_that_a_link_names(
    prior: ScenePrior, names: tuple[str, str, list[Path]], tmp_path: Path
) -> None:
    victim = tmp_path / "victim.sh"
    victim.write_text("# my own file\n")
    place = tmp_path / "shared" / "scenes"
    place.mkdir(parents=True)
    (place / names[0]).symlink_to(victim)
    with pytest.raises(TrexError, match=r"link.*delete it"):
        filled(prior, tmp_path / "shared")
    assert victim.read_text() == "# my own file\n"
    (place / names[0]).unlink()  # what the message says works
    assert filled(prior, tmp_path / "shared").count() == N


def test_a_link_that_comes_while_the_bank_is_open(
    prior: ScenePrior, names: tuple[str, str, list[Path]], tmp_path: Path
) -> None:
    victim = tmp_path / "victim.sh"
    victim.write_text("# my own file\n")
    with bank_of(prior, "fake", tmp_path / "shared") as bank:
        (tmp_path / "shared" / "scenes").mkdir()
        (tmp_path / "shared" / "scenes" / names[0]).symlink_to(victim)
        with pytest.raises(TrexError, match="link"):
            bank.render(N)
    assert victim.read_text() == "# my own file\n"


def test_a_folder_of_scenes_that_is_a_link(
    prior: ScenePrior, names: tuple[str, str, list[Path]], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    mine = elsewhere / f"{'0' * 32}.jsonl"
    mine.write_text("mine\n")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "scenes").symlink_to(elsewhere)
    with pytest.raises(TrexError, match="link"):
        filled(prior, tmp_path / "shared")
    shutil.copytree(tmp_path / "first" / names[1], tmp_path / "shared" / names[1], dirs_exist_ok=True)
    trex_done("cache", "prune-banks", "--all", "--bank", tmp_path / "shared")
    assert mine.read_text() == "mine\n" and len(list(elsewhere.iterdir())) == 1


def test_pictures_are_not_stored_through_a_part_that_is_a_link(
    prior: ScenePrior, names: tuple[str, str, list[Path]], tmp_path: Path
) -> None:
    """They would neither be counted nor be bounded by the limit."""
    elsewhere, bank = tmp_path / "elsewhere", tmp_path / "shared" / names[1]
    elsewhere.mkdir()
    bank.mkdir(parents=True)
    for part in {picture.parent for picture in names[2]}:
        (bank / part).symlink_to(elsewhere)
    with pytest.raises(RunError, match="symbolic link"):
        filled(prior, tmp_path / "shared")
    assert not list(elsewhere.iterdir())


def test_pictures_are_not_read_through_links(
    prior: ScenePrior, names: tuple[str, str, list[Path]], tmp_path: Path
) -> None:
    """A picture behind a link is rendered again, in the bank's own folder, and its file is left as it was."""
    first, bank = tmp_path / "first" / names[1], tmp_path / "shared" / names[1]
    shutil.copytree(tmp_path / "first", tmp_path / "shared")
    for picture in names[2]:
        os.utime(first / picture, (1, 1))
        (bank / picture).unlink()
        (bank / picture).symlink_to(first / picture)
    assert filled(prior, tmp_path / "shared").count() == N
    for picture in names[2]:
        assert not (bank / picture).is_symlink() and (first / picture).stat().st_mtime == 1
    assert stored_banks(tmp_path / "shared")[0].pictures == N


def test_a_bank_whose_folder_is_a_link(
    prior: ScenePrior, names: tuple[str, str, list[Path]], tmp_path: Path
) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "shared" / names[1]).symlink_to(tmp_path / "elsewhere")
    words = [
        "render",
        "bank",
        tmp_path / "q.toml",
        "--preset",
        "fake",
        "--scenes",
        N,
        "--bank",
        tmp_path / "shared",
    ]
    refused(trex(*words), "symbolic link", "delete the link")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_the_folder_of_all_banks_may_be_a_link(prior: ScenePrior, tmp_path: Path) -> None:
    (tmp_path / "big").mkdir()
    (tmp_path / "banks").symlink_to(tmp_path / "big")
    assert filled(prior, tmp_path / "banks").count() == N
    assert stored_banks(tmp_path / "big")[0].pictures == N


def test_the_picture_cache_stores_nothing_through_a_part_that_is_a_link(
    prior: ScenePrior, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "elsewhere").mkdir()
    cache = CachedRenderer(FakeRenderer(), tmp_path / "cache")
    for part in range(256):
        (tmp_path / "cache" / f"{part:02x}").symlink_to(tmp_path / "elsewhere")
    scene = prior.sample(np.random.default_rng(0))
    for _ in range(2):
        assert len(cache.render([scene])) == 1  # an aid: the search goes on
    assert cache.misses == 2 and not list((tmp_path / "elsewhere").iterdir())
    assert "symbolic link" in caplog.text
