"""A query file of somebody else is read, and what it names is imported or asked only after --trust."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import trex as api
from tests.running.command_line import refused, trex, trex_done
from tests.running.runs import QUERY
from tests.serving.chat_server import ChatServer, chat_server
from tests.worlds.toy_disk import QUERY as DISK
from trex.foundation.errors import InputError

MODULE = """
from pathlib import Path

Path({marker!r}).write_text("it was imported")
raise ValueError("and did what it likes")
"""
GENERATOR = '[generator]\nname = "of_another:make"\n'
MODEL = QUERY.replace('name = "fake"', 'name = "of_another:make"')
COMMANDS = {
    "check": ["check", "q.toml"],
    "find": ["find", "q.toml"],
    "queue add": ["queue", "add", "q.toml"],
    "a pattern": ["queue", "add", "q*.toml", "--sweep", "search.seed=1,2"],
    "baseline": ["baseline", "q.toml", "--rendered", "2"],
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: that of somebody else's files, none of which this user has trusted."""
    monkeypatch.delenv("TREX_TRUST")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = tmp_path / "here"
    place.mkdir()
    (place / "of_another.py").write_text(MODULE.format(marker=str(tmp_path / "marker")))
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A chat server that sees which keys and pictures reach it."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-strangers")
    with chat_server(lambda pictures, question: "2") as running:
        yield running


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("text", [f'answer = "2"\n{GENERATOR}', MODEL], ids=["a generator", "a model"])
def test_the_code_that_a_query_names_is_imported_only_after_trust(
    text: str, command: str, here: Path, tmp_path: Path
) -> None:
    (here / "q.toml").write_text(text)
    for _ in range(2):  # a refusal is not remembered as trust
        refused(trex(*COMMANDS[command]), "q.toml", "runs the code of", "of_another:make", "--trust")
    assert not (tmp_path / "marker").exists()
    assert trex(*COMMANDS[command], "--trust").exit_code == 2  # the module raises
    assert (tmp_path / "marker").exists()


@pytest.mark.parametrize("command", ["check", "find", "queue add"])
def test_no_picture_and_no_key_reaches_the_address_that_a_query_names(
    command: str, here: Path, server: ChatServer
) -> None:
    (here / "q.toml").write_text(
        QUERY.replace('name = "fake"', f'name = "openai:m"\nendpoint = "{server.url}"')
    )
    refused(trex(*COMMANDS[command]), "sends pictures", "OPENAI_API_KEY", server.url, "--trust")
    # the model is the user's own, but its pictures would go to the file's address
    refused(trex(*COMMANDS[command], "--model", "openai:mine"), server.url, "--trust")
    assert not server.requests
    with pytest.raises(InputError, match=r"sends pictures.*trust=True"):
        api.check("q.toml")
    assert not server.requests


def test_what_the_command_line_names_needs_no_trust(here: Path) -> None:
    (here / "q.toml").write_text(MODEL)
    trex_done("check", "q.toml", "--model", "fake")
    trex_done("check", "q.toml", "--set", 'model={name="fake"}')
    trex_done("check", "q.toml", "--set", "generator.name=clevr", "--model=fake")
    assert api.check("q.toml", model="fake").model


def test_trust_lasts_until_the_file_names_something_else(here: Path) -> None:
    (here / "q.toml").write_text(DISK)
    refused(trex("check", "q.toml"), "tests.worlds.toy_disk:disk")
    trex_done("check", "q.toml", "--trust")
    trex_done("check", "q.toml")
    assert api.check("q.toml").world
    (here / "q.toml").write_text(DISK + "\n# another word\n")
    trex_done("queue", "add", "q.toml")  # what it names is the same
    (here / "q.toml").write_text(DISK.replace("toy_disk:disk", "toy_disk:other"))
    refused(trex("check", "q.toml"), "toy_disk:other", "--trust")
    (here / "q.toml").write_text(DISK)
    shutil.copy("q.toml", "copy.toml")
    refused(trex("check", "copy.toml"), "--trust")
    assert api.check("copy.toml", trust=True).world and api.check("copy.toml").world


def test_the_runs_of_a_trusted_query_are_this_users_own(here: Path) -> None:
    (here / "q.toml").write_text(DISK)
    small = ["--set", "search.prior_scenes=40", "--set", "search.steps=3", "--set", "search.control=false"]
    trex_done("find", "q.toml", *small, "--out", "run", "--trust")
    trex_done("resume", "run")


def test_queries_in_a_folder_of_ones_own_need_no_trust(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = here / "own", here / "own-not"
    for folder in (own, other):
        folder.mkdir()
        (folder / "q.toml").write_text(DISK)
    monkeypatch.setenv("TREX_TRUST", f"{tmp_path / 'elsewhere'}:{own}")
    trex_done("check", own / "q.toml")
    refused(trex("check", other / "q.toml"), "--trust")
    (own / "link.toml").symlink_to(other / "q.toml")
    refused(trex("check", own / "link.toml"), "--trust")
    monkeypatch.setenv("TREX_TRUST", "")
    refused(trex("check", own / "q.toml"), "--trust")


def test_keywords_are_the_callers_own_words() -> None:
    found = api.check(answer="near", generator="tests.worlds.toy_disk:disk", target="threshold")
    assert "near" in found.answers


def test_what_comes_with_the_program_needs_no_trust(here: Path) -> None:
    (here / "q.toml").write_text(QUERY)
    assert json.loads(trex_done("check", "q.toml", "--json").stdout)["query"]
    assert not (here.parent / "state").exists()  # nothing was recorded
