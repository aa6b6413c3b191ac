"""Banks on disk: an index of elsewhere is never believed, and deleting takes whole banks and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from tests.worlds.banks import Telling, filled, picture_bytes, small_bank
from trex.bank.disk import Due, prune_banks, select, stored_banks
from trex.bank.index import read_index
from trex.foundation.errors import InputError

DAY_S = 86_400.0


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    """Three banks of 5, 6 and 7 pictures, last used 3, 2 and 1 days ago."""
    paths = []
    for seed in range(3):
        paths.append(filled(tmp_path, 5 + seed, seed))
        used = time.time() - (3 - seed) * DAY_S
        os.utime(paths[-1] / "bank.json", (used, used))
    return paths


def left(root: Path) -> list[Path]:
    return [bank.path for bank in stored_banks(root)]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"format": 0}, "has format '0', this version reads format 1"),
        ({"format": "../../x"}, "this version reads format 1"),
        ({"seed": 3}, "describes another bank"),
        ({"renderer": "another"}, "describes another bank"),
        ({"rendered": -1}, "rendered: Input should be greater"),
        ({"rendered": 10**9}, "rendered: Input should be less"),
        ({"look": "\x1b[2J"}, "unprintable characters"),
        ({"more": 1}, "more: Extra inputs"),
    ],
)
def test_an_index_that_is_old_foreign_or_wrong_is_refused(
    change: dict[str, object], text: str, tmp_path: Path
) -> None:
    path = filled(tmp_path)
    data = json.loads((path / "bank.json").read_text())
    (path / "bank.json").write_text(json.dumps(data | change))
    with pytest.raises(InputError, match="delete this file, and it is written anew") as caught:
        small_bank(tmp_path)
    assert text in str(caught.value)
    assert text in stored_banks(tmp_path)[0].why  # listed all the same


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "[" * 10_000, '{"format": NaN}', '{"format": 1}'])
def test_no_text_is_taken_for_an_index(text: str, tmp_path: Path) -> None:
    path = filled(tmp_path)
    (path / "bank.json").write_text(text)
    with pytest.raises(InputError, match="delete this file"):
        read_index(path)


def test_an_index_behind_a_link_or_in_another_folder_is_refused(tmp_path: Path) -> None:
    path, other = filled(tmp_path), filled(tmp_path, seed=1)
    shutil.copy(other / "bank.json", path / "bank.json")
    with pytest.raises(InputError, match="describes another bank"):
        small_bank(tmp_path)
    (path / "bank.json").unlink()
    (path / "bank.json").symlink_to(other / "bank.json")
    with pytest.raises(InputError, match="symbolic link"):
        small_bank(tmp_path)


def test_a_claim_of_more_than_there_is_is_counted_again(tmp_path: Path) -> None:
    path = filled(tmp_path)
    data = json.loads((path / "bank.json").read_text())
    (path / "bank.json").write_text(json.dumps(data | {"rendered": 9_000_000}))
    with small_bank(tmp_path) as bank:
        assert bank.count() == 5


def test_banks_are_listed_by_last_use_and_found_by_prefix(three: list[Path], tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / ("0" * 32)).symlink_to(three[0])
    banks = stored_banks(tmp_path)
    assert [(bank.path, bank.pictures) for bank in banks] == [(three[0], 5), (three[1], 6), (three[2], 7)]
    assert all(bank.size == sum(map(len, picture_bytes(bank.path).values())) for bank in banks)
    assert select(banks, [three[1].name[:12]]) == {three[1].name}
    for prefix in ("", "zz"):
        with pytest.raises(InputError, match="no bank begins with"):
            select(banks, [prefix])
    with pytest.raises(InputError, match="2 banks begin with"):
        select([banks[0], banks[0]], [three[0].name])
    assert stored_banks(tmp_path / "nowhere") == []


def test_a_use_is_noted(three: list[Path], tmp_path: Path) -> None:
    small_bank(tmp_path, seed=0).close()
    assert left(tmp_path) == [three[1], three[2], three[0]]


@pytest.mark.parametrize(
    ("which", "kept"), [("age", [1, 2]), ("size", [2]), ("name", [0, 2]), ("all", []), ("nothing", [0, 1, 2])]
)
def test_banks_are_deleted_whole_and_the_least_recently_used_first(
    which: str, kept: list[int], three: list[Path], tmp_path: Path
) -> None:
    sizes = [bank.size for bank in stored_banks(tmp_path)]
    due = {
        "age": Due(before=time.time() - 2.5 * DAY_S),
        "size": Due(most=sizes[2] + sizes[1] - 1),
        "name": Due(names=frozenset({three[1].name})),
        "all": Due(is_all=True),
        "nothing": Due(most=sum(sizes)),
    }[which]
    done = prune_banks(tmp_path, due)
    assert left(tmp_path) == [three[k] for k in kept] == [bank.path for bank in done.left]
    assert [bank.pictures for bank in done.gone] == [5 + k for k in range(3) if k not in kept]
    assert all(path.exists() == (k in kept) for k, path in enumerate(three))
    assert len(list((tmp_path / "scenes").glob("*.jsonl"))) == len(kept)


def test_deleting_leaves_what_is_not_the_banks_and_what_is_in_use(three: list[Path], tmp_path: Path) -> None:
    (three[0] / "ab").mkdir(exist_ok=True)
    (three[0] / "ab" / "thesis.txt").write_text("mine")
    with small_bank(tmp_path, seed=1):
        done = prune_banks(tmp_path, Due(is_all=True))
    assert [bank.path for bank in done.busy] == [three[1]] and len(picture_bytes(three[1])) == 6
    assert (three[0] / "ab" / "thesis.txt").read_text() == "mine"
    assert picture_bytes(three[0]) == {} and not (three[0] / "bank.json").exists() and not three[2].exists()


def test_a_deleted_bank_is_rendered_again_to_the_same_bytes(three: list[Path], tmp_path: Path) -> None:
    before = picture_bytes(three[0])
    prune_banks(tmp_path, Due(is_all=True))
    assert picture_bytes(filled(tmp_path, 5)) == before


def test_the_limit_takes_other_banks_least_recently_used_first_and_never_the_growing_one(
    three: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [bank.size for bank in stored_banks(tmp_path)]
    monkeypatch.setenv("TREX_BANK_MAX", str(sum(sizes) + 1))
    with small_bank(tmp_path, seed=1) as bank:  # with one picture more, the oldest has to go
        bank.render(7)
    assert left(tmp_path) == [three[2], three[1]]
    monkeypatch.setenv("TREX_BANK_MAX", str(2 * sizes[2]))
    inner = Telling()
    with small_bank(tmp_path, inner, seed=1) as bank:
        with pytest.raises(
            InputError, match=r"limit.*everything rendered before is kept.*Raise TREX_BANK_MAX"
        ):
            bank.render(400)
        assert left(tmp_path) == [three[1]]
        assert 7 < bank.count() == len(picture_bytes(three[1])) < 40
    monkeypatch.delenv("TREX_BANK_MAX")
    with small_bank(tmp_path, seed=1) as bank:
        bank.render(40)
        assert bank.count() == 40
