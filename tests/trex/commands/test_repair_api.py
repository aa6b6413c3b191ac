"""`trex.repair`: the same repair as on the command line, byte for byte, as a Python value."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import trex
from tests.running.command_line import trex as command
from tests.trex.repair.scenes.planted import opened
from tests.worlds.mnist_worlds import write_data
from tests.worlds.repair_toy import tree
from trex.repair.report import PAGE, Results
from trex.repair.results import Component, DistillResult

QUERY = """
[identify]
seeds = 20
draws = 4
held_out = 10
compared = 10
validation = 10
[distill]
components = 2
iterations = 50
[label]
epochs = 1
[correct]
seeds = 1
lambdas = [0.0, 1.0]
batch = 16
pictures = 16
purity = 0.0
"""


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(QUERY)
    write_data(tmp_path)
    return path


@pytest.mark.slow
def test_every_step_is_that_of_the_command_line(tmp_path: Path, query: Path) -> None:
    api, line = tmp_path / "api", tmp_path / "line"
    repair = trex.repair(query, out=api, data=tmp_path, set={"identify.noise": "printed"}, progress=False)
    assert repair.results.distill is None and repair.query.identify.noise == "printed"
    with pytest.raises(trex.RunError, match="run: trex repair distill"):
        repair.correct()
    assert repair.identify() == repair.results.identify
    assert repair.distill().mistakes == repair.results.identify.kept
    assert (repair.pictures() / "p00000.png").is_file()
    label = repair.label("committee")
    assert label.who == "committee of five networks"
    found = repair.correct()
    results = trex.open_repair(api, data=tmp_path, progress=False).results
    assert results.correct == found and results.label == label and results.novelty is not None
    assert repair.sentences == tuple(results.sentences) and not repair.is_repaired
    assert repair.report() == api / PAGE
    words = [
        f"identify {query} --out {line} --set identify.noise=printed",
        *(f"{step} {line}" for step in ("distill", "label", "label", "correct")),
    ]
    words[3] += " --voters committee"
    for one in words:
        said = command("repair", *one.split(), "--data", str(tmp_path))
        assert said.exit_code == 0
        for advised in re.findall(
            "(?:next|then|vote): trex repair (?:distill|label|correct) .*", said.stdout
        ):
            assert f"{line} --data {tmp_path}" in advised
    report = command("repair", "report", line)
    assert report.stdout.splitlines()[: len(repair.sentences)] == list(repair.sentences)
    mine, theirs = tree(api), tree(line)
    assert len(mine) > 20 and mine.keys() == theirs.keys()
    assert {name for name in mine if mine[name] != theirs[name]} <= {PAGE}  # which names its folder


def test_a_committee_can_be_replaced_by_a_file_of_votes(tmp_path: Path, query: Path) -> None:
    repair = trex.repair(query, out=tmp_path / "r", data=tmp_path, progress=False)
    repair.distill()
    names = sorted(path.stem for path in repair.pictures().glob("p*.png"))
    votes = tmp_path / "votes.csv"
    votes.write_text("picture,annotator,label\n" + "".join(f"{name},Ada,none\n" for name in names[:1]))
    before = tree(tmp_path / "r")
    for keywords, message in (
        ({}, "give either voters"),
        ({"voters": "committee", "votes": votes}, "votes does not apply: voters says whose"),
        ({"voters": "crowd"}, "kind of voters 'crowd' is not known"),
        ({"voters": "committee", "without": ["Ada"]}, "without does not apply: only annotators of a file"),
        ({"vote": votes}, "did you mean 'votes'"),
        ({"votes": votes, "without": ["Bob"]}, "the annotators are Ada"),
        ({"voters": "people"}, "holds no votes"),
    ):
        given: dict[str, Any] = keywords
        with pytest.raises(trex.InputError, match=message):
            repair.label(**given)
    assert tree(tmp_path / "r") == before
    assert repair.label(votes=votes).who == "one annotator"
    for words in (["distill"], ["label"], ["label", "--votes", str(votes)]):
        said = command("repair", words[0], str(tmp_path / "r"), "--data", str(tmp_path), *words[1:]).stdout
        (advised, *others) = re.findall("(?:next|then|vote): trex repair .*", said)
        assert all(f"{tmp_path / 'r'} --data {tmp_path}" in each for each in (advised, *others))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"set": {"identify.sedes": 3}}, "did you mean 'seeds'"),
        ({"set": {"identify.seeds": object()}}, "identify.seeds"),
        ({"set": {"correct.epoch": "first"}}, "'last' or 'best'"),
        ({"set": {"identify.seeds": 51}}, "only 50"),
        ({"data": "nowhere"}, "data folder nowhere does not exist"),
    ],
)
def test_bad_input_is_named(tmp_path: Path, query: Path, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(trex.InputError, match=message):
        trex.repair(query, out=tmp_path / "r", progress=False, **{"data": tmp_path, **keywords})
    assert not (tmp_path / "r" / "identify").exists()


def test_a_folder_without_a_repair_is_named(tmp_path: Path) -> None:
    with pytest.raises(trex.InputError, match="is no repair"):
        trex.open_repair(tmp_path / "nothing")
    with pytest.raises(trex.InputError, match="is one of these shipped ones, or the path of a TOML file"):
        trex.repair("nothing", out=tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


SMALL = {
    "generator.look": "fake-small", "generator.deciding": "fake-small", "identify.seeds": 26, "identify.draws": 1,
    "identify.held_out": 2, "identify.step": 0.03,
}  # fmt: skip


@pytest.mark.slow
def test_a_repair_on_scenes_is_that_of_the_command_line_too(tmp_path: Path) -> None:
    repair = trex.repair("clevr", out=tmp_path / "api", set=SMALL, progress=False)
    found = repair.distill()
    settings = [part for key, value in SMALL.items() for part in ("--set", f"{key}={json.dumps(value)}")]
    assert command("repair", "identify", "clevr", "--out", str(tmp_path / "cli"), *settings).exit_code == 0
    told = command("repair", "distill", str(tmp_path / "cli"), "--json")
    assert told.exit_code == 0 and json.loads(told.stdout)["mistakes"] == found.mistakes
    for name in (
        "repair.json",
        "identify/mistakes.json",
        "distill/members.safetensors",
        "distill/distill.json",
    ):
        assert (tmp_path / "api" / name).read_bytes() == (tmp_path / "cli" / name).read_bytes()
    again = trex.open_repair(tmp_path / "cli", progress=False)
    assert again.results.distill == found and again.query == repair.query and not again.is_repaired
    assert len(again.sentences) == 2 and again.sources.model.startswith("shipped")
    assert again.report().read_text().count("is not finished") == 2


def test_each_kind_of_repair_refuses_what_belongs_to_the_other(tmp_path: Path) -> None:
    with pytest.raises(trex.InputError, match="takes no data"):
        trex.repair("clevr", out=tmp_path / "r", data=tmp_path, progress=False)
    with pytest.raises(trex.InputError, match="only a repair on rendered scenes renders"):
        trex.repair("mnist", out=tmp_path / "r", processes=1, progress=False)
    for options, words in (
        (["clevr", "--data", str(tmp_path)], "--data does not apply"),
        (["mnist", "--processes", "1"], "--processes does not apply"),
    ):
        refused = command("repair", "identify", *options, "--out", str(tmp_path / "r"))
        assert refused.exit_code == 2 and words in refused.stderr
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("step", ["identify", "distill", "pictures", "label", "correct", "prove"])
def test_a_repair_opened_in_python_names_keywords(tmp_path: Path, step: str) -> None:
    """Planted bug: `open_repair(PATH, data=DATA).distill()` spoke of --data."""
    with opened(tmp_path / "r") as folder:
        for done in ("identify", "distill", "pictures", "label", "correct"):
            folder.begin(done)
            folder.finish(done)
    repair = trex.open_repair(tmp_path / "r", data=tmp_path, progress=False)
    keywords = {"prove": {"queries": ["demo"]}}.get(step, {})
    with pytest.raises(trex.InputError, match=r"a repair on rendered scenes .*data") as refused:
        getattr(repair, step)(**keywords)
    assert "--data" not in str(refused.value)


@pytest.mark.parametrize(
    ("words", "lacking"),
    [
        ("distill", "identify"),
        ("label", "identify"),
        ("correct", "identify"),
        ("prove --query demo", "identify"),
    ],
)
def test_a_missing_step_is_told_before_data_are_loaded_and_where_a_step_writes(
    tmp_path: Path, words: str, lacking: str
) -> None:
    """Planted bug: `trex repair correct` read the data set first, and said that it writes."""
    opened(tmp_path / "r").close()
    step, *options = words.split()
    data = [] if step == "prove" else ["--data", str(tmp_path)]  # which a repair on scenes refuses, too
    refused = command("repair", step, str(tmp_path / "r"), *options, *data)
    assert refused.exit_code == 2 and refused.stderr.startswith("error: "), refused.stderr
    assert f"step '{lacking}'" in refused.stderr


def test_votes_on_rendered_scenes_and_a_proof_of_nothing_are_refused_with_what_to_type(
    tmp_path: Path,
) -> None:
    """Planted bug: `trex repair prove FOLDER` ended well, having measured nothing, whatever was finished."""
    opened(tmp_path / "r").close()
    place, before = str(tmp_path / "r"), tree(tmp_path / "r")
    for words, advice in (
        (["label", place, "--voters", "people"], f"run: trex repair label {place}"),
        (["prove", place], "give --query, --dataset or both"),
    ):
        refused = command("repair", *words)
        assert refused.exit_code == 2 and refused.stderr.strip().endswith(advice)
    assert tree(tmp_path / "r") == before


def test_what_a_step_found_is_printed_as_the_command_line_prints_it() -> None:
    """Planted bug: `print(repair.distill())` gave every field of the record on one line."""
    family = Component(number=0, weight=0.5, members=3, kinds=[("seen cube", 3)], sentence="Cones are cubes")
    found = DistillResult(mistakes=6, components=[family], kept_weight=0.5)
    assert str(found) == "\n".join([*found.lines, *found.sentences])
    assert repr(found).startswith("<DistillResult: 1 family holds 3 of 6 mistakes (50.0%)")
    results = Results({"distill": found})
    assert str(results) == found.sentences[0]
    assert repr(results) == "<Results: Repair, not finished; of distill; print it for all>"


def test_a_repair_prints_what_it_shows(tmp_path: Path, query: Path) -> None:
    """Planted bug: `print(trex.repair(...))` gave the fields of the dataclass."""
    repair = trex.repair(query, out=tmp_path / "r", data=tmp_path, progress=False)
    assert str(repair) == "\n".join(repair.sentences) and "mistake" in str(repair)
    assert repr(repair) == f"<Repair {tmp_path / 'r'}: finished identify; print it for all>"
    (tmp_path / "r" / "identify").rename(tmp_path / "elsewhere")
    assert "run: trex repair identify" in str(repair), "as a stop in the first step leaves it"
    assert repr(repair) == f"<Repair {tmp_path / 'r'}>"


def test_a_repair_is_found_after_a_change_of_folder(
    tmp_path: Path, query: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: after `os.chdir` the folder held no repair, and the data were missing."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    made = trex.repair("small.toml", out="r", data=".", progress=False)
    opened = trex.open_repair("r", data=".", progress=False)
    assert repr(opened) == repr(made) == "<Repair r: finished identify; print it for all>"
    monkeypatch.chdir("elsewhere")
    for repair in (made, opened):
        assert repair.path == tmp_path / "r" and repair.distill().components
