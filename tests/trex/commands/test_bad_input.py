"""Bad input ends with exit code 2, one clear line, no trace, nothing rendered and nothing written."""

import errno
import hashlib
import importlib
import json
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import Result

from tests.running.command_line import trex
from tests.running.runs import QUERY, run, write_query
from trex.render.fake import FakeRenderer
from trex.runs import folder as run_folder
from trex.worlds.shipped import clevr_plan


class Rendered(AssertionError):
    """Something was rendered that should not have been."""


@pytest.fixture
def no_render(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_: object, **__: object) -> None:
        raise Rendered

    monkeypatch.setattr(FakeRenderer, "render", refuse)
    return


def refused(result: Result, *parts: str) -> None:
    """Exit code 2, every part in the message, and no trace."""
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stderr.startswith(("error: ", "writing to")), result.stderr
    for part in parts:
        assert part in result.stderr, result.stderr
    assert "Traceback" not in result.output + result.stderr


BAD = {
    "unknown key": ("serch = 1\n" + QUERY, ["unknown key 'serch'", "did you mean 'search'"]),
    "unknown shape": (QUERY.replace('["cube"]', '["cubicle"]'), ["'cubicle'", "cube"]),
    "unknown shape in the question": (QUERY.replace("red things", "red cubicles"), ["cubicles"]),
    "unknown answer": (QUERY.replace('"2"', '"three"'), ["answer 'three' is not known", "0, 1, 2"]),
    "no question": (QUERY.replace('"How many red things are there?"', '" "'), ["has no question"]),
    "unknown question": (QUERY.replace("How many red things", "Why are there red things"), ["Why"]),
    "impossible count": (QUERY.replace('"2"', '"17"'), ["answer '17' is not known", "9, 10). These are"]),
    "an empty file": ("", ["has no question"]),
    "answer of another kind": (
        QUERY.replace('"2"', '"red"'),
        ["answer 'red'", "9, 10). These are the answers that"],
    ),
    "no answer": (QUERY.replace('answer = "2"', ""), ["needs one answer, but the query has none"]),
    "two answers for one": (QUERY.replace('"2"', '["3", "4"]'), ["needs one answer, but the query has 2"]),
    "an answer for none": (
        QUERY + '[target]\nkind = "uniform"\n',
        ["target 'uniform' takes no answer, but the query has 1; remove answer"],
    ),
    "one answer for two": (QUERY + '[target]\nkind = "graded"\n', ["needs 2 answers", 'answer = ["1", "2"]']),
    "every shape revoked": (
        QUERY.replace('["cube"]', '["cube", "sphere", "cylinder"]'),
        ["leaves no object", "revoke less"],
    ),
    "more objects than fit": (
        QUERY.replace("[scene]", "[scene]\nobjects = 11"),
        ["11", "1 to 10"],
    ),
    "objects upside down": (QUERY.replace("[scene]", "[scene]\nobjects = [5, 3]"), ["5-3"]),
    "unknown model": (QUERY.replace('name = "fake"', 'name = "resnet"'), ["model 'resnet'", "shipped"]),
    "unknown module": (
        QUERY.replace('name = "fake"', 'name = "no_such_package.module:factory"'),
        ["no_such_package"],
    ),
    "missing weights": (QUERY.replace('name = "fake"', 'name = "gone.safetensors"'), ["gone", "missing"]),
    "unknown preset": (QUERY.replace('preset = "fake"', 'preset = "fats"'), ["preset 'fats'", "'fast'"]),
    "unknown device": (QUERY.replace("[render]", '[render]\ndevice = "tpu"'), ["device 'tpu'", "cuda"]),
    "unknown card": (QUERY.replace("[scene]", '[scene]\nintroduce = ["cube.toml"]'), ["cube.toml", "cone"]),
    "shape twice": (QUERY.replace("[scene]", '[scene]\nintroduce = ["cube"]'), ["'cube' is already"]),
    "too few prior scenes": (QUERY.replace("= 12\nchains", "= 2\nchains"), ["prior_scenes = 2"]),
    "wrong program": (
        'program = [{function = "scene"}, {function = "contar", inputs = [0]}]\n' + QUERY,
        ["contar", "count"],
    ),
    "probabilities": (
        QUERY.replace('answer = "2"', "").replace(
            "[scene]", '[target]\nkind = "probabilities"\nprobabilities = {3 = 0.5, 4 = 0.4}\n[scene]'
        ),
        ["sum to 0.9"],
    ),
}


@pytest.mark.usefixtures("no_render")
@pytest.mark.parametrize("name", BAD)
def test_a_bad_query_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, parts = BAD[name]
    for command in (["check"], ["find", "--out", tmp_path / "run"]):
        refused(trex(*command, write_query(tmp_path, text)), "query.toml: ", *parts)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["query.toml"]


@pytest.mark.usefixtures("no_render")
def test_ten_large_objects_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        clevr_plan, "BATCHES", 400
    )  # as many as ten objects of both sizes need, and some more
    text = QUERY.replace("[scene]", "[scene]\nobjects = 10")
    large = write_query(tmp_path, text.replace('["cube"]', '["small things"]'))
    refused(trex("find", large, "--out", tmp_path / "run"), "10 objects", "do not fit", "[scene] objects")
    assert not (tmp_path / "run").exists()
    assert trex("check", write_query(tmp_path, text)).exit_code == 0


def test_a_good_query_passes_the_same_table(tmp_path: Path) -> None:
    result = trex("check", write_query(tmp_path))
    assert result.exit_code == 0
    assert "nothing was rendered" in result.output


def shipped_copy(folder: Path) -> Path:
    """A copy of the shipped weights and their card."""
    from trex.clevr_models.percept.model import SHIPPED

    if not SHIPPED.exists():
        pytest.skip("the shipped weights are not in this checkout")
    for path in (SHIPPED, SHIPPED.with_suffix(".json")):
        shutil.copy(path, folder / path.name)
    return folder / SHIPPED.name


def tampered(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.usefixtures("no_render")
@pytest.mark.parametrize("damage", [tampered, truncated, Path.unlink])
def test_damaged_weights_are_refused(damage: Callable[[Path], None], tmp_path: Path) -> None:
    weights = shipped_copy(tmp_path)
    damage(weights)
    text = QUERY.replace('name = "fake"', f'name = "{weights}"')
    refused(trex("find", write_query(tmp_path, text), "--out", tmp_path / "run"), str(weights))
    assert not (tmp_path / "run").exists()


class Bomb:
    """Unpickled, it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.usefixtures("no_render")
def test_code_in_a_pickled_checkpoint_is_never_executed(tmp_path: Path) -> None:
    for name in ("weights.pth", "weights.safetensors"):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(Bomb(tmp_path / "exploded")))
        path.with_suffix(".json").write_text(
            json.dumps({"sha256": hashlib.sha256(path.read_bytes()).hexdigest()})
        )
        query = write_query(tmp_path, QUERY.replace('name = "fake"', f'name = "{path}"'))
        refused(trex("find", query, "--out", tmp_path / "run"), "weights")
    assert not (tmp_path / "exploded").exists()
    pickle.loads(path.read_bytes())  # the bomb is live: without the guard it would have gone off
    assert (tmp_path / "exploded").exists()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_to_an_empty_folder_is_a_place_for_what_is_written(tmp_path: Path, is_there: bool) -> None:
    """Renamed to the link itself, a run was refused as another process's."""
    for name in ("run", "hits", "suite", "base"):
        (tmp_path / name).symlink_to(tmp_path / "disk" / name)
        if is_there:
            (tmp_path / "disk" / name).mkdir(parents=True)
    run, hits = tmp_path / "run", tmp_path / "hits"
    done = trex("find", write_query(tmp_path), "--no-explain", "--out", run)
    assert done.exit_code == 0 and (tmp_path / "disk/run/run.json").is_file(), done.stderr
    done = trex("export", run, "--out", hits)
    assert done.exit_code == 0 and (tmp_path / "disk/hits/scenes").is_dir(), done.stderr
    assert trex("suite", "add", run, "--to", tmp_path / "suite").exit_code == 0
    done = trex("baseline", tmp_path / "query.toml", "--rendered", 2, "--out", tmp_path / "base")
    assert done.exit_code == 0 and (tmp_path / "disk/base/baseline.json").is_file(), done.stderr
    assert run.is_symlink() and hits.is_symlink() and list((tmp_path / "disk/suite").iterdir())


@pytest.mark.usefixtures("no_render")
def test_a_place_that_is_taken_is_refused(tmp_path: Path) -> None:
    query = write_query(tmp_path)
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "letter.txt").write_text("mine")
    refused(trex("find", query, "--out", taken), "not an empty folder")
    assert (taken / "letter.txt").read_text() == "mine"
    refused(trex("find", query, "--out", taken / "letter.txt" / "run"), "cannot write to")


def test_another_query_does_not_write_into_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(tmp_path)
    before = (done.folder / "draws.jsonl").read_bytes()
    monkeypatch.setattr(FakeRenderer, "render", lambda *_: pytest.fail("rendered"))
    query = write_query(tmp_path)
    refused(trex("find", query, "--out", done.folder, "--set", "search.seed=9"), "differ in search.seed")
    result = trex(
        "find", query, "--out", done.folder, "--no-explain"
    )  # the same query: all of it is there already
    assert result.exit_code == 0
    assert (done.folder / "draws.jsonl").read_bytes() == before


def test_a_run_of_another_version_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path)
    manifest = done.folder / "run.json"
    data = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(data | {"format": 99}))
    for command in ("resume", "report"):
        refused(trex(command, done.folder), "format 99", "this version reads format 1")
    refused(trex("find", write_query(tmp_path), "--out", done.folder), "format 99")
    manifest.write_text(json.dumps(data | {"query": {}, "facts": 3}))
    refused(trex("resume", done.folder), "damaged", "facts")
    manifest.write_text("{")
    refused(trex("resume", done.folder), "not JSON")
    manifest.unlink()
    refused(trex("resume", done.folder), "not a run folder")


def test_a_run_made_of_something_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(tmp_path)
    monkeypatch.setattr(FakeRenderer, "key", "another renderer")
    refused(trex("resume", done.folder), "the renderer was fake", "now it is another renderer")


OWN = """
import numpy as np

WEIGHT = 1.0


def ask(pictures, question):
    scores = np.exp(WEIGHT * pictures.mean(axis=(1, 2)))
    return scores / scores.sum(axis=1, keepdims=True)


ask.labels = ("0", "1", "2")
"""


def test_other_weights_behind_a_callable_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing tells the weights of a callable but its answers."""
    (tmp_path / "answerer_with_weight.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    out = tmp_path / "out"
    result = trex(
        "find", write_query(tmp_path), "--out", out, "--set", "model.name=ask:answerer_with_weight:ask"
    )
    assert result.exit_code == 0, result.output
    probabilities = json.loads((out / "run.json").read_text())["made"]["probe_probabilities"]
    assert len(probabilities) == 2 * 3
    module = importlib.import_module("answerer_with_weight")
    for weight in (1.0, 1.001):  # the second as another processor might round
        monkeypatch.setattr(module, "WEIGHT", weight)
        assert trex("resume", out).exit_code == 0
    monkeypatch.setattr(module, "WEIGHT", 2.0)
    refused(trex("resume", out), "cannot resume", "now gives other answers")


@pytest.mark.usefixtures("no_render")
def test_a_full_disk_is_said_before_anything_is_rendered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = write_query(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(run_folder.shutil, "disk_usage", lambda _: SimpleNamespace(total=1 << 40, free=0))
        refused(trex("find", query, "--out", tmp_path / "run"), "is full", "--out")
        refused(trex("queue", "add", query, "--runs", tmp_path / "runs"), "is full", "with --runs")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:  # there seemed to be space, but there is none
        patch.setattr(run_folder.os, "fsync", full)
        refused(trex("find", query, "--out", tmp_path / "run"), "no space left")
    assert [path.name for path in tmp_path.iterdir()] == ["query.toml"]


def test_a_place_that_is_on_no_disk_is_not_called_full(tmp_path: Path) -> None:
    words = "/proc is on no disk that can hold files" if os.geteuid() == 0 else "cannot write to /proc"
    for place in ("/proc/x", "/proc/x/y"):
        refused(trex("find", write_query(tmp_path), "--out", place), words)


def test_a_query_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    query = write_query(tmp_path)
    query.write_bytes(b"\xef\xbb\xbf" + query.read_bytes())
    assert trex("check", query).exit_code == 0
    assert trex("find", query, "--out", tmp_path / "run").exit_code == 0


CARD = """
name = "egg"
plural = "eggs"
nouns = ["egg"]
outline = "sphere"
mesh = "egg.obj"
made_by = "by hand"
licence = "CC0"
license = "CC0"
"""


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("/etc", ["shape card /etc cannot be read", "is a folder"]),
        ("/dev/zero", ["shape card /dev/zero cannot be read", "is a device"]),
        ("a" * 299, ["introduce 'aaaa", "File name too long"]),
        ("gone.toml", ["introduce 'gone.toml'", "does not exist"]),
        ("card.toml", ["card.toml: license: this key is not known (keys: name,", "licence"]),
    ],
)
def test_a_shape_card_that_cannot_be_read_is_named_with_its_reason(
    name: str, parts: list[str], tmp_path: Path
) -> None:
    text = QUERY.replace("[scene]", f'[scene]\nintroduce = ["{name}"]')
    (tmp_path / "card.toml").write_text(CARD)
    refused(trex("check", write_query(tmp_path, text)), *parts)


@pytest.mark.usefixtures("no_render")
def test_an_argument_that_is_not_utf8_is_refused_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_query(tmp_path)
    strange = Path(os.fsdecode(b"q\xff.toml"))
    shutil.copy("query.toml", strange)
    for words in (
        ["check", strange],
        ["find", strange],
        ["queue", "add", strange],
        ["find", "query.toml", "--out", os.fsdecode(b"r\xff")],
        ["queue", "show", os.fsdecode(b"a\xe9")],
    ):
        refused(trex(*words), "argument '", "is not UTF-8 text")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "query.toml", tmp_path / strange])
    refused(trex("queue", "add", "q*"), "is not UTF-8 text")  # a pattern that finds it
    folder = Path(os.fsdecode(b"r\xff"))
    folder.mkdir()
    monkeypatch.chdir(folder)
    write_query(Path())
    refused(trex("find", "query.toml", "--out", "run"), "its path is not UTF-8 text")
    refused(trex("queue", "add", "query.toml"), "its path is not UTF-8 text")


@pytest.mark.parametrize("words", [["queue", "list", "--limit"], ["queue", "watch", "--once", "--rows"]])
def test_more_rows_than_a_queue_can_have_are_refused(words: list[str]) -> None:
    result = trex(*words, 10**30)
    assert result.exit_code == 2 and words[-1] in result.stderr and "1000000" in result.stderr


@pytest.mark.parametrize("file", ["draws.jsonl", "pictures"])
def test_a_disk_that_fills_up_loses_nothing(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (run(tmp_path, name="whole").folder / "draws.jsonl").read_bytes()
    query, out, calls = write_query(tmp_path), tmp_path / "run", iter(range(10**6))
    name, at = ("pwrite", 5) if file == "draws.jsonl" else ("fsync", 20)
    real = getattr(os, name)

    def fill(fd: int, *remaining: object) -> object:
        if next(calls) < at:
            return real(fd, *remaining)
        if remaining and isinstance(remaining[0], bytes):
            real(fd, remaining[0][:37], *remaining[1:])  # part of it still fits
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, name, fill)
        refused(trex("find", query, "--out", out), "no space left", f"trex resume {out}")
    kept = (out / "draws.jsonl").read_bytes()
    assert kept
    assert whole.startswith(kept)
    assert trex("resume", out).exit_code == 0
    assert (out / "draws.jsonl").read_bytes() == whole


def test_a_gpu_that_is_not_there_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A renderer finds out late that it cannot do what the query asks for."""
    from trex.foundation.errors import InputError

    def absent(*_: object) -> None:
        raise InputError("device 'cuda' does not exist on this machine")

    monkeypatch.setattr(FakeRenderer, "render", absent)
    refused(trex("find", write_query(tmp_path), "--out", tmp_path / "run"), "device 'cuda'")
    assert not (tmp_path / "run").exists()
