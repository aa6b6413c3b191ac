"""Whose code runs: what a query file names is run only if its user trusts the file, the folder or the words."""

from __future__ import annotations

from pathlib import Path

import pytest

import trex as api
from tests.running.command_line import refused, trex, trex_done
from tests.running.runs import QUERY
from trex.clevr_models.specs.adapter import adapter_of
from trex.foundation.errors import InputError
from trex.query.schema import Query
from trex.runs.trust import named_code

FAR = 'answer = "far"\n[generator]\nname = "tests.worlds.toy_disk:disk"\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TREX_TRUST")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["os:system", "antigravity:fly", "runpy:run_path", "webbrowser:open"])
def test_a_generator_from_the_standard_library_is_code_too(name: str, here: Path) -> None:
    (here / "q.toml").write_text(f'answer = "1"\n[generator]\nname = "{name}"\n')
    refused(trex("check", "q.toml"), name, "--trust")


def test_a_link_to_a_trusted_file_is_trusted_and_one_that_moves_to_another_is_not(here: Path) -> None:
    for name in ("mine", "other"):
        (here / f"{name}.toml").write_text(FAR)
    (here / "link.toml").symlink_to("mine.toml")
    trex_done("check", "mine.toml", "--trust")
    trex_done("check", "link.toml")
    (here / "link.toml").unlink()
    (here / "link.toml").symlink_to("other.toml")
    refused(trex("check", "link.toml"), "--trust")


def test_a_relative_or_home_folder_in_trex_trust(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "queries").mkdir()
    (here / "queries" / "q.toml").write_text(FAR)
    monkeypatch.setenv("HOME", str(here))
    for folders in ("queries", "~/queries", f":{here}/elsewhere:~/queries/"):
        monkeypatch.setenv("TREX_TRUST", folders)
        trex_done("check", "queries/q.toml")
    for folders in (":", "quer", "~/queries/deeper"):
        monkeypatch.setenv("TREX_TRUST", folders)
        refused(trex("check", "queries/q.toml"), "--trust")


@pytest.mark.parametrize("key", ["name", "endpoint", "trust_remote_code"])
def test_each_key_of_the_model_counts_alone(key: str) -> None:
    """The model may be the user's own, and yet its pictures go to, or its code comes from, what the file says."""
    values = (
        {"name": "hf:other/model"}
        if key != "endpoint"
        else {"name": "openai:m", "endpoint": "http://evil/v1"}
    )
    values |= {"trust_remote_code": True} if key == "trust_remote_code" else {}
    query = Query.model_validate({"model": values})
    own = ["model.name=hf:other/model"]
    assert named_code(query) != ()
    assert (named_code(query, own) == ()) is (key == "name")
    assert named_code(query, [*own, f"model.{key}=mine"]) == ()
    assert adapter_of(values["name"]) is not None


def test_a_sweep_over_models_is_the_users_own_word(here: Path) -> None:
    (here / "q.toml").write_text(QUERY.replace('name = "fake"', 'name = "nobody_has_this:make"'))
    trex_done("queue", "add", "q.toml", "--sweep", "model.name=fake")
    refused(trex("queue", "add", "q.toml", "--sweep", "search.seed=5,6"), "nobody_has_this:make", "--trust")


def test_the_remedies_of_the_message_work(here: Path) -> None:
    (here / "q.toml").write_text(FAR)
    with pytest.raises(InputError, match="trust=True"):
        api.check(here / "q.toml")
    assert api.check(here / "q.toml", trust=True).world
    trex_done("check", "q.toml")


def test_a_record_that_is_damaged_or_a_link_trusts_nothing(here: Path) -> None:
    (here / "q.toml").write_text(FAR)
    trex_done("check", "q.toml", "--trust")
    (record,) = (here / "state").rglob("*.json")
    whole = record.read_text()
    other = whole.replace("toy_disk", "other")
    for text in ("", "{", "[]", '{"named": "runs the code"}', '{"named": [1]}', other):
        record.write_text(text)
        refused(trex("check", "q.toml"), "--trust")
    record.unlink()
    (here / "copy.json").write_text(whole)
    record.symlink_to(here / "copy.json")
    refused(trex("check", "q.toml"), "--trust")
    trex_done("check", "q.toml", "--trust")
    assert not record.is_symlink()
