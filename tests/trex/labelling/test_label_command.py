"""`trex label` and `trex repair label --voters people`, as they are typed; a server that is killed."""

from __future__ import annotations

import http.client
import json
import signal
import sys
import threading
from pathlib import Path

import pytest

from tests.running.command_line import refused, trex, trex_done
from tests.serving.labelling import TOKEN, Annotator, items_of, shown_of, started
from tests.serving.marking import stored
from tests.serving.served import Site
from tests.worlds.repair_toy import toy, tree
from trex.foundation.errors import InputError
from trex.labelling.polls import read_marking, read_shown
from trex.labelling.votes import VOTES, Vote, VoteLog, read_tally
from trex.repair.files import Sources
from trex.repair.folder import RepairFolder
from trex.repair.settings import SceneQuery


class Crowd:
    """Two annotators who vote at once until the server is gone; `answered` has the votes that it has confirmed."""

    def __init__(self, site: Site) -> None:
        self.answered: dict[str, list[str]] = {"Ada": [], "Bob": []}
        self.enough = threading.Semaphore(0)
        self._threads = [
            threading.Thread(target=self._vote, args=(Annotator(site, name),)) for name in self.answered
        ]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Wait until both have noticed that the server is gone."""
        for thread in self._threads:
            thread.join()

    def _vote(self, annotator: Annotator) -> None:
        try:
            while picture := annotator.picture():
                if annotator.vote("left", picture).status == 303:
                    self.answered[annotator.name].append(picture)
                    self.enough.release()
        except (OSError, http.client.HTTPException):
            return


@pytest.mark.slow
@pytest.mark.process
def test_a_killed_server_keeps_every_vote_that_it_has_answered(folder: Path) -> None:
    shown = shown_of(folder)
    with started("label", folder) as (process, site):
        crowd = Crowd(site)
        for _ in range(12):
            assert crowd.enough.acquire(timeout=120)
        process.kill()
        crowd.join()
    with (folder / VOTES).open("ab") as file:
        file.write(b'{"annotator": "Ada", "lab')  # what a kill in the middle of a line leaves
    tally = read_tally(folder, shown)
    for name, answered in crowd.answered.items():
        kept = list(tally.of(name))
        assert kept[: len(answered)] == answered and len(kept) <= len(answered) + 1
    with started("label", folder) as (process, site):
        ada = Annotator(site, "Ada")
        assert f"Picture {len(tally.of('Ada')) + 1} of 23" in ada.look().text
        assert ada.vote("right").status == 303
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    votes = len(tally.of("Ada")) + 1 + len(tally.of("Bob"))
    assert process.returncode == 0 and TOKEN not in out + err
    assert f"{votes} votes of 2 annotators in {folder / VOTES}" in out
    assert f"count them: trex repair label {folder} --voters people" in out


def voted(folder: Path, *names: str) -> None:
    """These annotators say of every picture what it shows, the last one of half of them."""
    shown, items, loaded = shown_of(folder), items_of(folder), toy()
    truth = loaded.generator.encode(items.pictures).mean[:, 0] > 0
    log = VoteLog(folder, shown)
    for name in names:
        pairs = list(zip(items.names, truth, strict=True))
        for picture, is_right in pairs[: len(pairs) // 2] if name == names[-1] else pairs:
            log.append(Vote(annotator=name, picture=picture, label="right" if is_right else "left"))
    log.close()


def test_served_votes_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trex.repair.decoders.domain.load", lambda query, data: toy())
    refused(trex("repair", "label", folder, "--voters", "people"), "holds no votes; people vote with")
    nobody = trex_done("label", folder).stdout
    assert f"people label with: trex label {folder} --serve" in nobody and "count them" not in nobody
    voted(folder, "Ada", "Bob", "Eve")
    found = trex_done("repair", "label", folder, "--voters", "people").stdout
    assert (
        "voters: 3 annotators" in found and "Ada: 2 of 2 real pictures right, 1 of 1 repeats alike" in found
    )
    assert "right" in found and "scenario" in found
    text = trex_done(
        "repair", "label", folder, "--voters", "people", "--without", "Bob", "--without", "Eve"
    ).stdout
    assert "voters: one annotator, without Bob, Eve" in text


def test_a_page_is_exported(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    text = trex_done("label", folder, "--export", page).stdout
    assert (
        page.read_text().count("data:image/png") == 23
        and f"trex repair label {folder} --votes FILE.csv" in text
    )
    assert trex_done("label", folder, "--export", page).stdout == text, "its own page is replaced"
    page.write_text(theirs := '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">')
    refused(trex("label", folder, "--export", page), "page.html holds something else; delete it")
    assert page.read_text() == theirs


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("label --serve --export page.html", "--export does not apply: --serve only collects votes"),
        ("label --votes votes.csv", "the votes of a repair are counted with: trex repair label"),
        ("repair label --voters peple", "did you mean 'people'"),
        ("repair label --voters committee --votes votes.csv", "--votes does not apply"),
        ("repair label --voters committee --without Ada", "--without does not apply"),
    ],
)
def test_options_that_do_not_fit_are_refused_and_nothing_is_written(
    folder: Path, words: str, text: str
) -> None:
    before = tree(folder)
    refused(trex(*words.split(), folder), text)
    assert tree(folder) == before


def test_a_token_in_the_environment_is_no_option(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: who had set it for the served pages could not count votes."""
    monkeypatch.setenv("TREX_TOKEN", TOKEN)
    assert "0 votes of 0 annotators" in trex_done("label", folder).stdout
    refused(trex("label", folder, "--token", "0123456789abcdef"), "--token does not apply")


def test_without_the_extra_it_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = trex("label", folder, "--serve")
    refused(result, "trex label --serve needs uvicorn", "pip install 'bayes-trex[farm]'")


@pytest.fixture
def marked(tmp_path: Path) -> Path:
    return stored(tmp_path / "b").folder


def test_marks_of_a_file_are_counted_and_told(marked: Path, tmp_path: Path) -> None:
    page, votes = tmp_path / "page.html", tmp_path / "votes.csv"
    assert f"trex label {marked} --votes FILE.csv" in trex_done("label", marked, "--export", page).stdout
    assert "Does the picture show what its label says?" in page.read_text()
    name = next(iter(read_marking(marked).shown.pictures))
    votes.write_text(f"picture,annotator,label\n{name},Ada,mislabelled\n")
    done = trex_done("label", marked, "--votes", votes)
    assert "1 new mark from" in done.stderr
    assert "without wrong labels 1 of 3" in done.stdout and "b.toml" not in done.stdout
    assert "all queries: of 4 true mistakes, 2 with a wrong label" in done.stdout
    document = json.loads(trex_done("label", marked, "--json").stdout)
    assert document["baselines"][0]["marks"] == {"mislabelled": 1, "mistake": 0, "unclear": 0, "unmarked": 1}


@pytest.mark.slow
@pytest.mark.process
def test_a_killed_server_keeps_its_marks_and_a_stopped_one_counts_them(marked: Path) -> None:
    with started("label", marked) as (process, site):
        assert Annotator(site, "Ada").vote("mislabelled").status == 303
        process.kill()
        process.wait(timeout=60)
    with started("label", marked) as (process, site):
        assert "Picture 2 of 2" in Annotator(site, "Ada").look().text
        refused_while_served = trex("label", marked)
        assert refused_while_served.exit_code and "another process marks" in refused_while_served.stderr
        assert Annotator(site, "Bob").vote("mislabelled").status == 303
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert (
        process.returncode == 0 and "with a wrong label" in out and "all queries: of 4 true mistakes" in out
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--serve --votes votes.csv", "--votes does not apply: --serve only collects votes"),
        ("--export page.html --votes votes.csv", "--votes does not apply"),
        ("--port 8000", "--port does not apply: only the served page"),
        ("--serve --port 70000", "--port 70000 is not a port"),
        ("--serve --token short", "the token has only 5 characters"),
        ("--export nowhere/page.html", "--export nowhere/page.html cannot be written"),
        ("--votes nowhere.csv", "nowhere.csv"),
    ],
)
def test_options_that_do_not_fit_are_refused(marked: Path, words: str, text: str) -> None:
    before = {name: data for name, data in tree(marked).items() if "lock" not in name}
    refused(trex("label", marked, *words.split()), text)
    assert {name: data for name, data in tree(marked).items() if "lock" not in name} == before


def test_a_folder_without_a_poll_is_named(tmp_path: Path) -> None:
    words = ("no repair and no baseline", "trex repair identify QUERY", "trex baseline QUERY")
    refused(trex("label", tmp_path), *words)


def test_a_repair_on_rendered_scenes_takes_no_people(tmp_path: Path) -> None:
    """Planted bug: its groups were called damaged, and deleting them was advised."""
    query = SceneQuery.model_validate({"generator": {"name": "clevr"}, "model": {"name": "shipped"}})
    sources = Sources(generator="clevr", model="shipped", dataset="", train="", test="")
    with (
        RepairFolder(tmp_path, query, sources, -1) as folder,
        pytest.raises(InputError, match="whose truth is known: nobody labels them"),
    ):
        read_shown(folder)
