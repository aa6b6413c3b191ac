"""Step 5 and the commands: what the page claims, and what it says of a repair that is not finished."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.running.command_line import trex
from tests.trex.repair.test_correct import corrected, labelled_folder, without_planted_training
from tests.worlds.repair_toy import TOML, toy, toy_folder, toy_query
from trex.foundation.errors import InputError, RunError
from trex.foundation.progress import silent
from trex.repair.folder import create
from trex.repair.report import DOCUMENT, PAGE, write_report
from trex.repair.steps import distill, identify


def test_the_page_has_every_control_and_claims_nothing_that_a_control_does_as_well(tmp_path: Path) -> None:
    path = labelled_folder(tmp_path / "r", toy())
    corrected(path, without_planted_training())
    with toy_folder(path, toy()) as folder:
        write_report(folder)
    page, document = (path / PAGE).read_text(), json.loads((path / DOCUMENT).read_text())
    for words in (
        "lambda 0: the same steps",
        "decodings without noise",
        "raw mistakes",
        "one annotator",
        "Not done:",
    ):
        assert words in page
    assert not document["is_repaired"] and any(
        "Not claimed to be repaired" in item for item in document["sentences"]
    )
    assert "<script" not in page and "http" not in page.replace("http-equiv", "").replace(
        "http://www.w3.org", ""
    )
    before = (path / PAGE).read_bytes()
    with toy_folder(path, toy()) as folder:
        write_report(folder)
    assert (path / PAGE).read_bytes() == before


def test_an_unfinished_repair_says_what_is_missing(tmp_path: Path) -> None:
    loaded = toy()
    with toy_folder(tmp_path / "r", loaded) as folder:
        with pytest.raises(RunError, match="run: trex repair identify"):
            write_report(folder)
        identify(folder, loaded, silent)
        write_report(folder)
        page = (tmp_path / "r" / PAGE).read_text()
        assert page.count("is not finished") == 3 and "likely mistakes" in page
        distill(folder, loaded, silent)
    with toy_folder(tmp_path / "r", loaded, toy_query(distill={"components": 3})) as folder:
        write_report(folder)
    page = (tmp_path / "r" / PAGE).read_text()
    assert "Step “distill” has other settings" in page and page.count("is not finished") == 2


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("identify mnis", "repair 'mnis' is not known (clevr, fashion, mnist); did you mean 'mnist'?"),
        ("identify mnist --data nowhere", "data folder nowhere does not exist"),
        ("identify mnist --data . --set identify.sedes=3", "did you mean 'seeds'"),
        ("identify mnist --data . --set generator.name=mnist-gan", "expected vae"),
        ("identify mnist --data . --set model.name=fashion-classifier", "both have to know the same classes"),
        ("distill nowhere", "nowhere is no repair"),
        ("label nowhere --voters crowd", "kind of voters 'crowd' is not known"),
        ("label nowhere --without Ada", "only annotators of a file"),
        ("report nowhere", "identify QUERY --out nowhere"),
        ("report .", "identify QUERY --out FOLDER"),
    ],
)
def test_bad_input_is_named_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = trex("repair", *words.split())
    assert result.exit_code == 2 and text in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_settings_that_were_edited_by_hand_are_not_replaced(tmp_path: Path) -> None:
    """Planted bug: the command that goes on with a stopped step wrote the file anew, and the edits were lost."""
    loaded, path = toy(), tmp_path / "repair"
    toy_folder(path, loaded).close()
    edited = TOML.replace("batch = 32", "batch = 33")
    (path / "repair.toml").write_text(edited)
    with pytest.raises(
        InputError, match=r"other settings than this command gives, in correct\.batch; go on with"
    ):
        toy_folder(path, loaded)
    assert (path / "repair.toml").read_text() == edited
    create(path, edited, toy_query(), loaded.sources).close()  # the command that is advised
    create(
        path, TOML, toy_query(), loaded.sources, ["correct.batch=9"]
    ).close()  # a setting that is meant to change
    assert (path / "repair.toml").read_text() == TOML
