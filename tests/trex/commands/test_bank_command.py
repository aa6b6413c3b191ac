"""`trex render bank`, `trex cache banks`: what they render, lists and deletes, and what it refuses."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.running.command_line import refused, trex, trex_done
from tests.running.runs import QUERY, write_query
from trex.bank.bank import bank_of
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.scenes.scene import Scene
from trex.worlds.registry import check

FAKE = ("--preset", "fake")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a query and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TREX_BANK")
    write_query(tmp_path)
    return tmp_path


def rendered(*words: object) -> dict[str, object]:
    message: dict[str, object] = json.loads(trex_done("render", "bank", *words, *FAKE, "--json").stdout)
    return message


def listed(*words: object) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(trex_done("cache", "banks", *words, "--json").stdout)["banks"]
    return found


def test_a_bank_is_rendered_once_and_grows(place: Path) -> None:
    first = rendered("query.toml", "--scenes", 4)
    assert (first["scenes"], first["rendered_now"], first["world"]) == (4, 4, "5 objects, no cube")
    assert first["preset"] == listed()[0]["preset"] == "fake", "the name of the option"
    assert Path(str(first["path"])).parent == place / "cache" / "banks"
    grown = rendered("query.toml", "--scenes", 7)
    assert (grown["bank"], grown["scenes"], grown["rendered_now"]) == (first["bank"], 7, 3)
    again = trex_done("render", "bank", "query.toml", "--scenes", 7, *FAKE)
    assert "7 scenes at fake, 0 of them rendered now" in again.stdout
    assert "scenes in the bank 7/7" in again.stderr


def test_it_is_the_bank_that_a_plan_of_the_query_has(place: Path) -> None:
    message = rendered("query.toml", "--scenes", 3)
    with bank_of(check(place / "query.toml"), "fake") as bank:
        assert (bank.path, bank.count()) == (Path(str(message["path"])), 3)


def test_worlds_by_name_and_by_settings(place: Path) -> None:
    worlds = [
        rendered(*words, "--scenes", 1)
        for words in (
            ("demo",),
            ("clevr",),
            ("clevr", "--set", "scene.objects=2"),
            ("clevr", "--set", "scene.objects=2", "--seed", 5),
            ("clevr", "--set", "scene.objects=2", "--set", 'scene.introduce=["cone"]'),
        )
    ]
    assert [world["world"] for world in worlds] == [
        "5 objects, no cube", "3 to 10 objects", "2 objects", "2 objects", "2 objects, cone introduced"
    ]  # fmt: skip
    assert len({world["bank"] for world in worlds}) == 5
    printed = trex_done("cache", "banks").stdout
    assert printed.count(" 1 scene ") == printed.count("; preset fake") == 5


@pytest.mark.parametrize("bad", ["file", "link"])
def test_a_bank_that_cannot_be_there_names_its_own_option(place: Path, bad: str) -> None:
    """Planted bugs: it named TREX_CACHE, and --folder, which is no option of this command."""
    banks = place / "banks"
    if bad == "file":
        banks.write_text("")
    else:
        made = Path(str(rendered("query.toml", "--scenes", 1, "--bank", banks)["path"]))
        made.rename(place / "moved")
        made.symlink_to(place / "moved")
    failed = trex("render", "bank", "query.toml", "--scenes", 1, "--bank", banks, *FAKE)
    refused(failed, str(banks), "with --bank or TREX_BANK")
    assert "TREX_CACHE" not in failed.stderr and "--folder" not in failed.stderr


def test_no_model_is_needed(place: Path) -> None:
    write_query(place, QUERY.replace('name = "fake"', 'name = "no_such_module:factory"'))
    assert rendered("query.toml", "--scenes", 1)["scenes"] == 1


def test_another_folder(place: Path) -> None:
    message = rendered("query.toml", "--scenes", 2, "--bank", "shared")
    assert [item["bank"] for item in listed("--bank", "shared")] == [message["bank"]]
    assert listed() == []


def test_prune_by_prefix_and_all(place: Path) -> None:
    names = [str(rendered("query.toml", "--scenes", 2, "--seed", seed)["bank"]) for seed in range(3)]
    assert "deleted 0 banks (0 bytes); 3 banks" in trex_done("cache", "prune-banks").stdout
    assert "deleted 1 bank" in trex_done("cache", "prune-banks", names[1][:10]).stdout
    assert {item["bank"] for item in listed()} == {names[0], names[2]}
    assert "deleted 0 banks" in trex_done("cache", "prune-banks", "--older-than", "1h").stdout
    assert "deleted 1 bank" in trex_done("cache", "prune-banks", "--max-size", listed()[1]["bytes"]).stdout
    done = json.loads(trex_done("cache", "prune-banks", "--all", "--json").stdout)
    assert (len(done["deleted"]), done["left"], done["in_use"]) == (1, [], [])
    assert listed() == []


def test_a_damaged_index_is_listed_noted_and_can_be_pruned(place: Path) -> None:
    path = Path(str(rendered("query.toml", "--scenes", 2)["path"]))
    (path / "bank.json").write_text("{")
    result = trex_done("cache", "banks")
    assert "no usable bank.json" in result.stdout and "note: " in result.stderr
    refused(trex("render", "bank", "query.toml", "--scenes", 2, *FAKE), "bank.json", "delete this file")
    trex_done("cache", "prune-banks", path.name)
    assert not path.exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("query.toml", "--scenes", 0), "holds 1 to"),
        (("query.toml", "--scenes", 2, "--seed", -1), "seed -1"),
        (("nowhere.toml", "--scenes", 2), "nowhere.toml"),
        (("mnist_1_or_7", "--scenes", 2), "generator 'clevr'"),
        (("clevr", "--scenes", 2, "--set", "scene.objects=11"), "1 to 10"),
        (("clevr", "--scenes", 2, "--set", "scene.revoke=['prism']"), "prism"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    words: Sequence[object], text: str, place: Path
) -> None:
    refused(trex("render", "bank", *words, *FAKE), text)
    assert listed() == []


def test_an_unknown_look_is_refused_with_the_known_ones() -> None:
    refused(trex("render", "bank", "demo", "--scenes", 2, "--preset", "sketchy"), "did you mean 'sketch'?")


def test_the_limit_is_refused_if_it_is_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREX_BANK_MAX", "lots")
    refused(trex("render", "bank", "demo", "--scenes", 2, *FAKE), "TREX_BANK_MAX 'lots' is not a size")


@pytest.mark.usefixtures("heeds_ctrl_c")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_keeps_all_and_says_how_to_go_on(
    stop: signal.Signals, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = []
    render = FakeRenderer.render

    def stopped(self: FakeRenderer, zs: Sequence[Scene]) -> list[Picture]:
        batches.append(len(zs))
        if len(batches) == 3:
            signal.raise_signal(stop)
        return render(self, zs)

    with monkeypatch.context() as patch:
        patch.setattr(FakeRenderer, "render", stopped)
        result = trex("render", "bank", "query.toml", "--scenes", 50, *FAKE)
    assert result.exit_code == 130
    assert "every scene that was rendered is kept, and the same command resumes" in result.stderr
    assert listed()[0]["scenes"] == 32
    assert rendered("query.toml", "--scenes", 50)["rendered_now"] == 18
