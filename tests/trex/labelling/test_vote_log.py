"""Votes on disk: what a torn, damaged or full file costs, and what each wrong vote is told."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tests.serving.labelling import items_of, shown_of
from tests.worlds.repair_toy import toy, tree
from trex.foundation.errors import InputError, RunError
from trex.inference.repair.votes import MISSING
from trex.labelling.poll import order_of
from trex.labelling.survey import Shown
from trex.labelling.votes import VOTES, UnsavedVote, Vote, VoteLog, read_tally, votes_csv
from trex.repair.votes_file import parse_votes
from trex.runs.checked_lines import chained


def ada(picture: str, label: str | None) -> Vote:
    return Vote(annotator="Ada", picture=picture, label=label)


def cast(folder: Path, shown: Shown, *votes: Vote) -> None:
    log = VoteLog(folder, shown)
    for vote in votes:
        log.append(vote)
    log.close()


def standing(folder: Path, shown: Shown) -> dict[str, str]:
    return dict(read_tally(folder, shown).of("Ada"))


def test_votes_survive_and_undo_is_a_line_of_its_own(folder: Path) -> None:
    shown = shown_of(folder)
    cast(folder, shown, ada("p00000", "left"), ada("p00001", "none"))
    cast(folder, shown, ada("p00001", None), ada("p00002", "right"))
    assert standing(folder, shown) == {"p00000": "left", "p00002": "right"}
    assert len((folder / VOTES).read_text().splitlines()) == 1 + 4
    votes = parse_votes(
        votes_csv(read_tally(folder, shown)), folder / VOTES, items_of(folder).names, toy().model.labels
    )
    assert votes.annotators == ("Ada",) and votes.table[:4, 0].tolist() == [0, MISSING, 1, MISSING]


def test_a_torn_last_line_is_cut_off(folder: Path) -> None:
    shown = shown_of(folder)
    cast(folder, shown, ada("p00000", "left"))
    whole = (folder / VOTES).read_bytes()
    cast(folder, shown, ada("p00001", "right"))
    more = (folder / VOTES).read_bytes()
    for end in range(len(whole), len(more), 9):
        (folder / VOTES).write_bytes(more[:end])
        assert standing(folder, shown) == {"p00000": "left"}
        cast(folder, shown)
        assert (folder / VOTES).read_bytes() == whole
        cast(folder, shown, ada("p00001", "right"))
        assert (folder / VOTES).read_bytes() == more


def test_a_file_torn_in_its_first_line_begins_anew(folder: Path) -> None:
    shown = shown_of(folder)
    cast(folder, shown)
    (folder / VOTES).write_bytes((folder / VOTES).read_bytes()[:9])
    cast(folder, shown, ada("p00000", "left"))
    assert standing(folder, shown) == {"p00000": "left"}


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"left", b"right"), (b"p00000", b"p00003"), (b'{"annotator"', b'"annotator"'), (b'"left"', b"null")],
)
def test_a_damaged_line_in_the_middle_is_named_and_nothing_is_written(
    folder: Path, before: bytes, after: bytes
) -> None:
    shown = shown_of(folder)
    cast(folder, shown, ada("p00000", "left"), ada("p00001", "left"))
    (folder / VOTES).write_bytes((folder / VOTES).read_bytes().replace(before, after, 1))
    kept = tree(folder)
    with pytest.raises(RunError, match=r"votes\.jsonl, line 2: "):
        VoteLog(folder, shown)
    assert tree(folder) == kept


@pytest.mark.parametrize(("before", "after"), [(b'{"annotator"', b'"annotator"'), (b'"left"', b"null")])
def test_a_line_that_is_no_vote_is_named_although_its_checksum_is_right(
    folder: Path, before: bytes, after: bytes
) -> None:
    shown = shown_of(folder)
    cast(folder, shown, ada("p00000", "left"), ada("p00001", "left"))
    (folder / VOTES).write_bytes((folder / VOTES).read_bytes().replace(before, after, 1))
    lines = (folder / VOTES).read_bytes().splitlines(keepends=True)
    (folder / "votes.check").write_text("".join(f"{text}\n" for text in chained(lines)))
    with pytest.raises(RunError, match=r"votes\.jsonl, line 2: "):
        read_tally(folder, shown)


@pytest.mark.parametrize(
    ("vote", "text"),
    [
        (Vote(annotator="Ada Lovelace", picture="p00001", label="left"), "pseudonym 'Ada Lovelace'"),
        (Vote(annotator="", picture="p00001", label="left"), "pseudonym ''"),
        (Vote(annotator="../Ada", picture="p00001", label="left"), "pseudonym '../Ada'"),
        (Vote(annotator="A" * 33, picture="p00001", label="left"), "1 to 32 letters"),
        (Vote(annotator="Ada\n", picture="p00001", label="left"), "is not allowed"),
        (ada("p00001", "lefft"), "did you mean 'left'"),
        (ada("p00001", ""), "label '' is not known"),
        (ada("p99999", "left"), "picture 'p99999' is not one of this repair"),
        (ada("", "left"), "picture '' is not one of this repair"),
        (ada("p00000", "right"), "already voted on picture p00000"),
        (ada("p00000", "left"), "already voted on picture p00000"),
        (ada("p00001", None), "the last vote of Ada is not on picture p00001"),
        (Vote(annotator="Bob", picture="p00000", label=None), "Bob has no vote to undo"),
    ],
)
def test_a_wrong_vote_is_named_and_nothing_is_written(folder: Path, vote: Vote, text: str) -> None:
    shown = shown_of(folder)
    log = VoteLog(folder, shown)
    log.append(ada("p00000", "left"))
    before = tree(folder)
    with pytest.raises(InputError, match=text):
        log.append(vote)
    assert tree(folder) == before
    log.close()


def test_a_full_disk_loses_only_the_vote_that_is_told_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = shown_of(folder)
    log = VoteLog(folder, shown)
    log.append(ada("p00000", "left"))
    real = os.pwrite

    def half(file: int, data: bytes, at: int) -> int:
        """The vote's checksum fits, and half of its line."""
        if not data.startswith(b"{"):
            return real(file, data, at) if b"}" not in data else full()
        return real(file, data[: len(data) // 2], at)

    def full() -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", half)
    before = tree(folder)
    with pytest.raises(UnsavedVote, match="not saved: no space left on the disk"):
        log.append(ada("p00001", "left"))
    assert tree(folder) == before
    monkeypatch.undo()
    log.append(ada("p00001", "right"))
    log.close()
    assert standing(folder, shown) == {"p00000": "left", "p00001": "right"}


def test_every_vote_is_synced_after_its_checksum(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = VoteLog(folder, shown_of(folder))
    synced: list[str] = []
    real = os.fsync

    def seen(file: int) -> None:
        assert stat.S_ISREG(os.fstat(file).st_mode)
        synced.append(Path(os.readlink(f"/proc/self/fd/{file}")).name)
        real(file)

    monkeypatch.setattr(os, "fsync", seen)
    log.append(ada("p00000", "left"))
    assert synced == ["votes.check", VOTES]
    log.close()


def test_orders_are_permutations_that_depend_on_annotator_and_key() -> None:
    names = tuple(f"p{number:05}" for number in range(100))
    ada, again, bob, other = (
        order_of(who, names, key) for who, key in (("Ada", "k"), ("Ada", "k"), ("Bob", "k"), ("Ada", "l"))
    )
    assert ada == again and sorted(ada) == sorted(bob) == sorted(other) == list(names)
    alike = [sum(a == b for a, b in zip(ada, texts, strict=True)) for texts in (bob, other, names)]
    assert max(alike) <= 12  # of 100; a Poisson count with mean 1 is larger with probability below 1e-10


def test_a_poll_without_a_vote_leaves_no_line_and_binds_nobody(folder: Path) -> None:
    """Planted bug: the head was written at once, and votes on other pictures were refused for ever."""
    shown = shown_of(folder)
    VoteLog(folder, shown).close()
    assert (folder / VOTES).read_bytes() == b""
    other = replace(shown, digest="0" * 64)
    cast(folder, other, ada("p00000", "left"))
    assert standing(folder, other) == {"p00000": "left"}
    with pytest.raises(RunError, match="votes on other pictures"):
        VoteLog(folder, shown)
