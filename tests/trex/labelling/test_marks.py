"""Mistakes that people mark: what they see and never see, how marks are counted, and what each strange mark is told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.serving.labelling import TOKEN, Annotator
from tests.serving.marking import ANSWER, KNOWN, SECRET, baseline, stored
from tests.serving.served import answering
from tests.worlds.repair_toy import tree
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import write_atomic
from trex.inference.statistics.proportion import Proportion
from trex.labelling.label_app import make_label_app
from trex.labelling.pages import export_page
from trex.labelling.poll import Poll
from trex.labelling.polls import marking, read_marking, take_votes, write_marks
from trex.labelling.votes import VOTES, Vote, VoteLog
from trex.trials.baseline.baseline import MARKS, Baseline, MarkCounts, consensus
from trex.trials.baseline.files import FILE, MARKS_FOLDER, PICTURES, read_stored
from trex.trials.baseline.page import sentences

HEAD = "picture,annotator,label\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return stored(tmp_path / "b").folder


def vote(folder: Path, annotator: str, *labels: str) -> None:
    """The annotator's marks of the first mistakes, in the order of their names."""
    with marking(folder) as found:
        log = VoteLog(found.place, found.shown)
        for picture, label in zip(found.shown.pictures, labels, strict=False):
            log.append(Vote(annotator=annotator, picture=picture, label=label))
        log.close()


def counted(folder: Path) -> tuple[Baseline, ...]:
    with marking(folder) as found:
        write_marks(found)
    return read_stored(folder).baselines


@pytest.mark.parametrize(
    ("given", "mark"),
    [
        ([], None),
        (["mislabelled"], "mislabelled"),
        (["mislabelled", "mistake"], "unclear"),
        (["mislabelled", "mistake", "mislabelled"], "mislabelled"),
        (["mislabelled", "unclear", "mistake", "mislabelled"], "unclear"),  # half is not more than half
        (["mistake", "mistake", "unclear"], "mistake"),
    ],
)
def test_a_mark_stands_if_more_than_half_give_it(given: list[str], mark: str | None) -> None:
    """Planted bug: the most frequent mark would call the tie of the fifth case mislabelled."""
    assert consensus(given) == mark


def test_a_mistake_of_several_queries_is_marked_once(folder: Path) -> None:
    found = read_marking(folder)
    assert list(found.shown.captions.values()) == [f"Which digit is it? Label: {label}" for label in "19"]
    assert len(found.shown.pictures) == 2  # the right seven and the miss are none
    other = stored(folder, baseline(ANSWER, "a"), baseline(ANSWER, "b", "Is it even?")).folder
    assert len(read_marking(other).shown.pictures) == 4  # another question has another label


def test_mistakes_are_counted_with_and_without_wrong_labels(folder: Path) -> None:
    """Planted bug: a page that left the mislabelled pictures among the pictures would count 1 of 4, not 1 of 3."""
    vote(folder, "Ada", "mislabelled", "mistake")
    first, empty, third = counted(folder)
    assert first.mistakes == third.mistakes == Proportion(2, KNOWN)
    assert first.mistakes_well_labelled == Proportion(1, KNOWN - 1) != Proportion(1, KNOWN)
    assert first.marks == third.marks == MarkCounts(1, 1, 0, 0) and not empty.marks.is_any
    assert [row.mark for row in first.seen] == ["mislabelled", "mistake", None, None]
    words = "of 2 true mistakes people found 1 with a wrong label, 1 real mistake, 0 that nobody can tell, 0 not marked"
    assert any(words in sentence for sentence in sentences(first)) and not any(
        "people" in sentence for sentence in sentences(empty)
    )
    figures = json.loads((folder / FILE).read_text())["baselines"][0]
    assert figures["marks"] == {"mislabelled": 1, "mistake": 1, "unclear": 0, "unmarked": 0}
    assert figures["mistakes_well_labelled"]["of"] == 3 and figures["mistakes"]["count"] == 2
    html = (folder / "baseline.html").read_text()
    assert words.capitalize() in html and ">wrong label<" in html and "true mistake, label right" in html


def test_annotators_see_picture_and_label_and_never_the_answer(folder: Path) -> None:
    found = read_marking(folder)
    found.place.mkdir()
    poll = Poll(found.shown, VoteLog(found.place, found.shown))
    pages = []
    with answering(make_label_app(poll, TOKEN)) as site:
        ada = Annotator(site, "Ada")
        while picture := ada.picture():
            pages.append(ada.look().text)
            assert found.shown.captions[picture] in pages[-1]
            for label, key in zip(MARKS, "wrc", strict=True):
                assert f'name="label" value="{label}" data-key="{key}"' in pages[-1]
            assert ada.vote("none").status == 400  # a label of repairs, not of marks
            assert ada.vote("mistake").status == 303
    poll.close()
    exported = export_page(found.shown)
    assert len(pages) == 2 and all(caption in exported for caption in found.shown.captions.values())
    for page in (*pages, exported):
        assert SECRET not in page and "a.toml" not in page and f"sure of {ANSWER}" not in page
    assert [item.marks.mistake for item in counted(folder)] == [2, 0, 2]


def test_marks_in_a_file_are_added_once(folder: Path, tmp_path: Path) -> None:
    """A killed command that took half of a file is given again."""
    vote(folder, "Ada", "mislabelled")
    file = tmp_path / "votes.csv"
    one, two = read_marking(folder).shown.pictures
    file.write_text(HEAD + f"{one},Ada,mislabelled\n{two},Ada,unclear\n{two},Bob,mislabelled\n")
    with marking(folder) as found:
        assert take_votes(found, file) == 2
        before = tree(found.place)
        assert take_votes(found, file) == 0 and tree(found.place) == before
    assert counted(folder)[0].marks == MarkCounts(1, 0, 1, 0)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ("m00009,Bob,mistake\n", "picture 'm00009' is not one of this baseline (such as {one})"),
        ("../x,Bob,mistake\n", "is not one of this baseline"),
        ("{one},Bob,mistakes\n", "did you mean 'mistake'"),
        ("{one},Bob,none\n", "label 'none' is not known"),
        (
            "{one},Bob,mistake\n{one},Bob,mistake\n",
            "line 3: annotator 'Bob' votes on picture {one} a second",
        ),
        (
            "{two},Bob,mistake\n{one},Ada,mistake\n",
            "Ada has already voted on picture {one}; undo that vote",
        ),
        ("{one},Bob Smith,mistake\n", "pseudonym 'Bob Smith' is not allowed"),
        ("{one},Bob\n", "2 values"),
        ("", "votes of 0 annotators"),
    ],
)
def test_a_strange_mark_is_named_and_nothing_is_written(
    folder: Path, tmp_path: Path, rows: str, text: str
) -> None:
    vote(folder, "Ada", "mislabelled")
    one, two = read_marking(folder).shown.pictures
    file = tmp_path / "votes.csv"
    file.write_text(HEAD + rows.format(one=one, two=two))
    before = tree(folder)
    with marking(folder) as found, pytest.raises(InputError, match=r"votes\.csv") as error:
        take_votes(found, file)
    assert text.format(one=one, two=two) in str(error.value) and tree(folder) == before


def test_votes_on_other_mistakes_are_refused(folder: Path, tmp_path: Path) -> None:
    """Planted bug: mistakes named by their number would take votes on an earlier baseline's for their own."""
    file = tmp_path / "votes.csv"
    file.write_text(HEAD + f"{next(iter(read_marking(folder).shown.pictures))},Ada,mislabelled\n")
    stored(folder, baseline(ANSWER, "a.toml", "Is it even?"))
    with marking(folder) as found, pytest.raises(InputError, match="is not one of this baseline"):
        take_votes(found, file)


def test_a_kill_between_the_files_leaves_a_folder_that_counts_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vote(folder, "Ada", "mislabelled")
    written: list[str] = []

    def killed(path: Path, data: bytes) -> None:
        written.append(path.name)
        if path.name == FILE:
            raise KeyboardInterrupt
        write_atomic(path, data)

    monkeypatch.setattr("trex.trials.baseline.files.write_atomic", killed)
    with pytest.raises(KeyboardInterrupt):
        counted(folder)
    monkeypatch.undo()
    assert written[-1] == FILE and read_stored(folder).baselines[0].marks.unmarked == 2
    assert counted(folder)[0].marks == MarkCounts(1, 0, 0, 1)


def test_one_process_marks_at_a_time(folder: Path) -> None:
    with marking(folder), pytest.raises(RunError, match="another process marks"), marking(folder):
        pass
    with marking(folder):
        pass


def test_a_folder_that_cannot_be_marked_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no repair and no baseline"):
        read_marking(tmp_path)
    with pytest.raises(InputError, match="counts no true mistake"):
        read_marking(stored(tmp_path / "right", baseline("3", "b.toml")).folder)
    whole = (folder / PICTURES).read_text()
    for text, message in (
        (whole.replace("data:image/png;base64,", "https://x.example/"), "no data URL"),
        (whole.replace("base64,iVBOR", "base64,iVBAA"), "cannot be decoded"),
        (whole.replace('"one"', '"won"'), "has no picture of 'one'"),
        (whole.replace('"baselines": 3', '"baselines": 2'), "is of other queries"),
    ):
        (folder / PICTURES).write_text(text)
        with pytest.raises(InputError, match=message):
            read_marking(folder)
    os.unlink(folder / PICTURES)
    with pytest.raises(InputError, match=f"holds no {PICTURES}"):
        read_marking(folder)


def test_a_damaged_log_is_named(folder: Path) -> None:
    vote(folder, "Ada", "mislabelled", "mistake")
    log = folder / MARKS_FOLDER / VOTES
    log.write_bytes(log.read_bytes().replace(b"mislabelled", b"mistake", 1))
    with pytest.raises(RunError, match=r"votes\.jsonl, line 2: "):
        counted(folder)
