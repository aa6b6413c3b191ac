"""A damaged line of a run's draws is noticed and named, and a link or a swapped picture in a run folder is refused."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import Result

from tests.running.command_line import trex
from tests.running.runs import QUERY, change_manifest, draws, go_on, run, seal_draws
from trex.foundation.errors import RunError
from trex.runs.checked_lines import chained
from trex.runs.draw_log import repair
from trex.runs.folder import open_run
from trex.runs.picture_files import DamagedPicture, read_stored

SEED = 20261122
FLIPS = 120
Lines = list[bytes]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("integrity")).folder


@pytest.fixture
def folder(searched: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(searched, tmp_path / "run"))


def refused(result: Result, *parts: str) -> None:
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1 and "Traceback" not in result.output
    for part in parts:
        assert part in result.stderr, result.stderr


def lines_of(folder: Path) -> Lines:
    return draws(folder).splitlines(keepends=True)


def write_lines(folder: Path, lines: Lines) -> None:
    (folder / "draws.jsonl").write_bytes(b"".join(lines))


def sums_of(folder: Path) -> list[str]:
    """The checksums of the lines that are there: their chain begins with the seal of what the run is."""
    with open_run(folder, for_writing=False) as opened:
        return list(chained(lines_of(folder), opened.manifest.seal))


def changed(line: bytes, **fields: object) -> bytes:
    return json.dumps(json.loads(line) | fields, separators=(",", ":")).encode() + b"\n"


def test_every_one_of_120_changed_digits_is_noticed_by_resume_and_its_line_named(folder: Path) -> None:
    whole = draws(folder)
    places = [at for at, byte in enumerate(whole) if chr(byte).isdigit()]
    rng = random.Random(SEED)
    for at in rng.sample(places, FLIPS):
        digit = rng.choice([d for d in b"0123456789" if d != whole[at]])
        (folder / "draws.jsonl").write_bytes(whole[:at] + bytes([digit]) + whole[at + 1 :])
        number = whole[:at].count(b"\n") + 1
        with pytest.raises(RunError, match=rf"draws\.jsonl, line {number}: "):
            go_on(folder)
    (folder / "draws.jsonl").write_bytes(whole)
    assert draws(go_on(folder).folder) == whole


@pytest.mark.parametrize("is_sealed", [False, True])
@pytest.mark.parametrize("damage", ["lost", "doubled", "swapped"])
@pytest.mark.parametrize("at", [3, 20])  # a prior draw, a step
def test_a_line_that_is_lost_doubled_or_swapped_is_noticed(
    at: int, damage: str, is_sealed: bool, folder: Path
) -> None:
    lines = lines_of(folder)
    if damage == "lost":
        del lines[at]
    elif damage == "doubled":
        lines.insert(at, lines[at])
    else:
        lines[at], lines[at + 3] = lines[at + 3], lines[at]
    write_lines(folder, lines)
    if is_sealed:
        seal_draws(folder)
    for command in ("resume", "report"):
        refused(trex(command, folder), "draws.jsonl, line ", "--repair")


def test_a_finished_run_that_has_lost_its_last_draws_is_noticed(folder: Path) -> None:
    """Planted bug: what a kill leaves was believed of a finished run too, and a verdict passed on 9 of its draws."""
    whole, lines = draws(folder), lines_of(folder)
    write_lines(folder, lines[:9])
    for command in (("resume",), ("report",), ("report", "--fail-if", "found")):
        refused(
            trex(*command[:1], folder, *command[1:]),
            "draws.jsonl, line 10: ",
            "this one is missing",
            "--repair",
        )
    assert trex("resume", folder, "--repair").exit_code == 0
    assert draws(folder) == whole


def test_a_repair_that_is_cut_leaves_no_finished_run(folder: Path) -> None:
    """Planted bug: `finished` stayed while the draws were repeated."""
    lines = lines_of(folder)
    write_lines(folder, lines[:9])
    with open_run(folder, for_writing=True) as opened:
        repaired = repair(opened.draws, opened.manifest)
        assert repaired is not None and repaired[1] == 9 and not opened.is_finished


BAD_FIELDS: dict[str, dict[str, object]] = {
    "a log probability above 0": {"log_probs": [700.0, -1.0]},
    "probabilities that do not sum to 1": {"log_probs": [-0.1, -0.1]},
    "no answer distribution": {"log_probs": []},
    "another number of answers": {"log_probs": [0.0]},
    "a chain that is not there": {"chain": 7},
    "a phase that is not there": {"phase": "warm"},
    "an index out of order": {"index": 9},
    "a prior draw that is not accepted": {"accepted": False},
    "an acceptance that is a number": {"accepted": 1},
    "a number as text": {"log_weight": "-1.5"},
    "an infinite weight": {"log_weight": "inf"},
    "no prior": {"log_prior": None},
    "negative pixels": {"visible": [-1, 2, 3, 4, 5]},
    "pixels of another number of objects": {"visible": [1]},
    "a picture outside the folder": {"picture": "../../secret"},
    "a vector in place of a scene": {"z": [0.0, 1.0]},
}


@pytest.mark.parametrize("name", BAD_FIELDS)
def test_an_impossible_draw_is_refused_although_its_checksum_is_right(name: str, folder: Path) -> None:
    lines = lines_of(folder)
    lines[4] = changed(lines[4], **BAD_FIELDS[name])
    write_lines(folder, lines)
    seal_draws(folder)
    refused(trex("resume", folder), "draws.jsonl, line 5: ")
    refused(trex("report", folder), "draws.jsonl, line 5: ")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "1e999", "9" * 5000, "[" * 5000])
def test_a_number_that_json_does_not_know_is_refused(word: str, folder: Path) -> None:
    lines = lines_of(folder)
    head, key, tail = lines[4].partition(b'"log_weight":')
    lines[4] = head + key + word.encode() + b"," + tail.partition(b",")[2]
    write_lines(folder, lines)
    seal_draws(folder)
    refused(trex("report", folder), "draws.jsonl, line 5: ")


def test_repair_keeps_what_is_before_the_damage_and_ends_with_the_same_bytes(folder: Path) -> None:
    whole, lines = draws(folder), lines_of(folder)
    damaged = lines[:17] + [lines[17].replace(b"chain", b"chaim", 1)] + lines[18:]
    write_lines(folder, damaged)
    refused(trex("resume", folder), "line 18", f"trex resume {folder} --repair")
    assert draws(folder) == b"".join(damaged)  # nothing is cut unasked
    result = trex("resume", folder, "--repair")
    assert result.exit_code == 0, result.output
    assert "kept 17 sound draws" in result.stderr
    assert draws(folder) == whole
    assert (folder / "draws.damaged-1.jsonl").read_bytes() == b"".join(damaged)
    again = trex("resume", folder, "--repair")
    assert again.exit_code == 0 and "nothing to repair" in again.stderr


def test_a_folder_without_checksums_is_damaged_from_its_first_line_on(folder: Path) -> None:
    """Planted bug: whoever deleted them could change any number, and the run opened with a note."""
    whole = draws(folder)
    (folder / "draws.check").unlink()
    for command in ("report", "resume"):
        refused(
            trex(command, folder),
            "draws.jsonl, line 1: ",
            "missing checksum",
            f"trex resume {folder} --repair",
        )
    assert draws(folder) == whole
    result = trex("resume", folder, "--repair")
    assert result.exit_code == 0 and "kept 0 sound draws" in result.stderr, result.output
    assert draws(folder) == whole
    assert (folder / "draws.check").read_text().split() == sums_of(folder)


@pytest.mark.parametrize(("kept", "checks"), [(0, 5), (7, 9), (13, 13), (20, 23.4)])
def test_checksums_ahead_of_the_draws_are_what_a_kill_leaves(kept: int, checks: float, folder: Path) -> None:
    whole, lines = draws(folder), lines_of(folder)
    (folder / "finished").unlink(missing_ok=True)  # as after a kill
    write_lines(folder, lines[:kept])
    path = folder / "draws.check"
    path.write_bytes(path.read_bytes()[: int(33 * checks)])
    assert draws(go_on(folder).folder) == whole
    assert path.read_text().split() == sums_of(folder)


def test_a_line_without_checksum_is_noticed(folder: Path) -> None:
    path = folder / "draws.check"
    path.write_bytes(path.read_bytes()[: 33 * 20])
    refused(trex("resume", folder), "line 21")


def test_a_damaged_checksum_costs_no_draw_if_a_later_one_holds(folder: Path) -> None:
    whole, path = draws(folder), folder / "draws.check"
    sums = path.read_text()
    path.write_text(sums[:70] + ("0" if sums[70] != "0" else "1") + sums[71:])
    assert draws(go_on(folder).folder) == whole
    assert path.read_text() == sums


LINKED = [
    "draws.jsonl",
    "draws.check",
    "run.json",
    "query.toml",
    "lock",
    "report.html",
    "pictures",
    "sessions.jsonl",
]


@pytest.mark.parametrize("name", LINKED)
@pytest.mark.parametrize("command", ["resume", "report"])
def test_a_link_in_a_run_folder_is_refused_and_what_it_points_to_stays(
    name: str, command: str, folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    shutil.move(folder / name, outside) if (folder / name).exists() else outside.touch()
    if outside.is_file():
        outside.write_bytes(outside.read_bytes() + b"half a line")
    before = outside.read_bytes() if outside.is_file() else sorted(os.listdir(outside))
    (folder / name).symlink_to(outside)
    refused(trex(command, folder), name, "symbolic link")
    assert (outside.read_bytes() if outside.is_file() else sorted(os.listdir(outside))) == before


def shown_pictures(folder: Path) -> list[str]:
    """Of all found scenes, as the results name them."""
    found = json.loads((folder / "findings.json").read_text())["found"]
    return [item["picture"].removeprefix("pictures/") for item in found if item["picture"]]


@pytest.mark.parametrize("damage", ["swapped", "linked", "cut", "a pipe"])
@pytest.mark.parametrize("command", ["report", "export"])
def test_a_picture_that_is_not_what_its_name_says_is_not_shown(
    command: str, damage: str, folder: Path, tmp_path: Path
) -> None:
    name = shown_pictures(folder)[0]
    path = folder / "pictures" / name
    secret = tmp_path / "secret.png"
    Image.fromarray(np.full((80, 120, 3), 7, np.uint8)).save(secret)
    cut = path.read_bytes()[:100]
    path.unlink()
    if damage == "swapped":
        shutil.copy(secret, path)
    elif damage == "linked":
        path.symlink_to(secret)
    elif damage == "cut":
        path.write_bytes(cut)
    else:
        os.mkfifo(path)
    failed = trex(command, folder)
    refused(failed, name.removesuffix(".png"))
    if damage != "linked":
        refused(failed, f"trex resume {folder} renders it again; if that ends with this message")
        assert trex("resume", folder).exit_code == 0 and trex(command, folder).exit_code == 0


def test_a_picture_of_an_explanation_is_back_if_its_advice_is_followed(folder: Path) -> None:
    """Planted bug: the advice was trex resume, which failed with the same words."""
    shown = set(shown_pictures(folder))
    assert trex("explain", folder, "--top", 1, "--nuisances", 0, "--flip-depth", 0).exit_code == 0
    (explanation,) = (folder / "explanations").glob("*.json")
    pictures = [effect["score"]["picture"] for effect in json.loads(explanation.read_text())["removals"]]
    name = next(each for each in pictures if f"{each}.png" not in shown)
    (folder / "pictures" / f"{name}.png").write_bytes(b"cut")
    for command in ("report", "resume"):
        failed = trex(command, folder)
        assert failed.exit_code == 2 and f"it belongs to {explanation}; delete that file" in failed.stderr
        assert failed.stderr.endswith(f"then: trex explain {folder}\n") and "trex resume" not in failed.stderr
    explanation.unlink()
    for path in (folder / "pictures").glob(f"{name}.*"):
        path.unlink()
    assert trex("explain", folder, "--top", 1).exit_code == 0 and trex("report", folder).exit_code == 0


@pytest.mark.parametrize(
    ("file", "again"),
    [("confirmations/clevr.json", "trex report {} --confirm clevr"), ("misses.json", "trex resume {}")],
)
def test_a_picture_that_is_not_of_a_draw_names_the_file_to_delete(
    file: str, again: str, folder: Path
) -> None:
    name = "0123456789abcdef" * 2
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(f'{{"picture": "{name}"}}')
    with pytest.raises(DamagedPicture) as error:
        read_stored(folder, name)
    assert f"it belongs to {folder / file}" in str(error.value)
    assert str(error.value).endswith(f"then: {again.format(folder)}")


def test_a_run_that_has_lost_its_query_says_so_before_it_searches(folder: Path) -> None:
    (folder / "query.toml").unlink()
    write_lines(folder, lines_of(folder)[:12])
    kept = draws(folder)
    refused(trex("resume", folder), "query.toml")
    assert draws(folder) == kept


def test_a_run_that_has_lost_its_pictures_can_be_resumed(folder: Path) -> None:
    whole = draws(folder)
    shutil.rmtree(folder / "pictures")
    write_lines(folder, lines_of(folder)[:12])
    (folder / "finished").unlink()
    result = trex("resume", folder)
    assert result.exit_code == 0, result.output
    assert draws(folder) == whole
    assert list((folder / "pictures").iterdir())


def test_what_cannot_be_written_in_a_run_names_no_option_that_resume_lacks(folder: Path) -> None:
    shutil.rmtree(folder / "pictures")
    (folder / "pictures").write_text("in the way")
    result = trex("resume", folder)
    assert result.exit_code == 2 and "--out" not in result.stderr and str(folder) in result.stderr


@pytest.mark.process
def test_a_netcdf_file_that_does_not_fit_leaves_nothing_and_keeps_the_one_before(folder: Path) -> None:
    place = folder / "draws.nc"
    place.write_bytes(b"the one before")
    pid = os.fork()
    if pid == 0:  # so that the limit on what a file may hold ends with the child
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        os._exit(trex("report", folder, "--format", "netcdf").exit_code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    assert place.read_bytes() == b"the one before"
    assert not [path for path in folder.iterdir() if ".tmp" in path.name]


def test_draws_and_facts_that_no_search_writes_are_named_errors(folder: Path) -> None:
    """Planted bugs: each ended in a traceback."""
    rows = [json.loads(line) for line in lines_of(folder)]
    hit = next(row for row in rows if row["picture"])
    far = next(row for row in rows if row["log_probs"] and row["log_weight"] < -20)
    scored = {name: hit[name] for name in ("log_probs", "log_weight", "picture")}
    of_control = {**far, **scored, "phase": "control", "chain": 0, "index": 0, "accepted": True}
    chain = [{**row, "figures": {"depth": 3}} if row["phase"] == "chain" else row for row in rows]
    (folder / "finished").unlink()
    for changed_rows, words in (([*rows, of_control], "no easier target"), (chain, "a trajectory has")):
        lines = [json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in changed_rows]
        write_lines(folder, lines)
        seal_draws(folder)
        refused(trex("report", folder), words)
    manifest = json.loads((folder / "run.json").read_text())
    manifest["facts"]["size"] = [0, 40]
    (folder / "run.json").write_text(json.dumps(manifest))
    refused(trex("report", folder), "facts.size")


TRAJECTORY = {"depth": 3, "accept_prob": 0.5, "is_divergent": False, "n_gradients": 7, "energy": 1.0}


@pytest.mark.parametrize(
    ("of_object", "of_draw", "words"),
    [
        ({"size": ""}, {}, "size '' is not known (large, small)"),
        ({"color": "zz"}, {}, "color 'zz' is not known"),
        ({"shape": "cone"}, {}, "shape 'cone' is not known (cube, cylinder, sphere)"),
        ({}, {"figures": TRAJECTORY}, "which only vectors have"),
    ],
)
def test_an_accepted_draw_of_words_that_the_run_lacks_is_named(
    of_object: dict[str, str], of_draw: dict[str, object], words: str, folder: Path
) -> None:
    """Planted bugs: each ended in a traceback, or was reported as a scene."""
    lines = lines_of(folder)
    rows = [json.loads(line) for line in lines]
    at = next(n for n, row in enumerate(rows) if row["phase"] == "chain" and row["accepted"])
    scene = rows[at]["scene"]
    objects = [scene["objects"][0] | of_object, *scene["objects"][1:]]
    lines[at] = changed(lines[at], scene={**scene, "objects": objects}, **of_draw)
    write_lines(folder, lines)
    seal_draws(folder)
    refused(trex("report", folder), f"draws.jsonl, line {at + 1}: ", words)


def test_a_run_of_another_format_is_refused_with_what_to_do(folder: Path) -> None:
    whole, manifest = draws(folder), json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(manifest | {"format": 2}))
    for command in (("report",), ("resume",), ("explain",), ("export",)):
        refused(
            trex(*command, folder),
            "run.json has run format 2, but this version reads format 1",
            "start a new run",
        )
    refused(trex("find", folder / "query.toml", "--out", folder), "has run format 2", "start a new run")
    assert draws(folder) == whole


def digit(text: bytes) -> bytes:
    """The manifest with another seed."""
    return text.replace(b'"seed": 0', b'"seed": 1', 1)


DAMAGED_MANIFESTS: dict[str, Callable[[bytes], bytes | None]] = {
    "lost": lambda text: None,
    "empty": lambda text: b"",
    "cut": lambda text: text[: len(text) // 2],
    "a flipped bit": lambda text: text[:99] + bytes([text[99] ^ 0x80]) + text[100:],
    "a digit": digit,
    "a key": lambda text: text.replace(b'"labels"', b'"lapels"', 1),
    "a shape": lambda text: text.replace(b'"name": "cube"', b'"name": "cuba"', 1),
    "no run": lambda text: b"{}",
    "nested": lambda text: b"[" * 100_000,
}


@pytest.mark.parametrize("kind", DAMAGED_MANIFESTS)
def test_a_damaged_manifest_is_written_again_by_the_command_that_began_the_run(
    kind: str, folder: Path
) -> None:
    """Planted bug: "start a new run", although every draw was there and its checksum proves which manifest it had."""
    query, manifest = folder.parent / "query.toml", folder / "run.json"
    query.write_text(QUERY)
    shutil.rmtree(folder)
    assert trex("find", query, "--out", folder).exit_code == 0
    whole, before = draws(folder), manifest.read_bytes()
    damaged = DAMAGED_MANIFESTS[kind](before)
    manifest.unlink()
    if damaged is not None:
        manifest.write_bytes(damaged)
    assert damaged != before
    told = f"{len(lines_of(folder))} draws are intact: repeat the command or call that began the run"
    for command in ("report", "resume", "explain"):
        refused(trex(command, folder), "run.json", told, f"--out {folder}")
    refused(trex("find", query, "--out", folder, "--set", "search.seed=7"), told)
    assert (manifest.read_bytes() if manifest.exists() else None) == damaged, (
        "another query took the draws over"
    )
    found = trex("find", query, "--out", folder)
    assert found.exit_code == 0, found.output
    assert manifest.read_bytes() == before and draws(folder) == whole


def test_a_manifest_with_half_of_a_surrogate_pair_is_named(folder: Path) -> None:
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"source": "', '"source": "\\ud800', 1))
    (folder / "query.toml").unlink()  # the message repeats the source
    refused(trex("report", folder), "run.json is not JSON", "half of a surrogate pair")


def test_a_manifest_without_cards_is_named_and_one_without_versions_is_read(folder: Path) -> None:
    manifest = json.loads((folder / "run.json").read_text())
    change_manifest(folder, lambda data: data.update(versions={}))
    assert trex("report", folder).exit_code == 0
    assert "bayes-trex (version not recorded)" in (folder / "report.html").read_text()
    manifest["facts"]["cards"] = []
    (folder / "run.json").write_text(json.dumps(manifest))
    refused(
        trex("report", folder), "run.json is damaged", "facts.cards has no card of cube, sphere, cylinder"
    )


def test_an_edited_query_of_a_run_is_told_and_not_used(folder: Path) -> None:
    """Planted bug: resuming and reporting said nothing of it."""
    query, whole = folder / "query.toml", draws(folder)
    for command in ("report", "resume"):
        assert "was edited" not in trex(command, folder).stderr
    text = query.read_text()
    query.write_text(
        text.replace("[search]\n", "[search]\nseed = 7\n").replace('answer = "2"', 'answer = "1"')
    )
    assert query.read_text() != text
    for command in ("report", "resume"):
        done = trex(command, folder)
        assert done.exit_code == 0 and draws(folder) == whole
        assert f"{query} was edited after the run began, in answer, search.seed; the run keeps" in done.stderr
        assert f"trex find {query} --out" in done.stderr
    query.write_text(text.replace("[scene]", '[scene]\nintroduce = ["cup.toml"]'))
    copied = "in scene.introduce; the run keeps its query. To search with the edited one: copy it to "
    assert copied in trex("report", folder).stderr, "its folder has no cards"
    for wrong, told in (
        (text.replace("[search]", "[search]\nsteppes = 4"), "unknown key 'steppes' in [search]"),
        (text.replace('answer = "2"', "answer = "), "the file is not TOML"),
        (text.replace("[search]", '[search]\nseed = "five"'), "search.seed = 'five'"),
    ):
        query.write_text(wrong)
        for command in ("report", "resume"):
            done = trex(command, folder)
            assert done.exit_code == 0 and draws(folder) == whole
            assert told in done.stderr and "; the run keeps the query with which it began" in done.stderr
    query.write_text(text.replace("prior_scenes", "# prior_scenes"))
    assert query.read_text() != text
    assert "began, in search.prior_scenes; the run" in trex("report", folder).stderr, "a key that was removed"
    change_manifest(folder, lambda data: data["versions"].update({"bayes-trex": "0.0.1"}))
    assert "was edited" not in trex("report", folder).stderr, "a default that may have been another"
