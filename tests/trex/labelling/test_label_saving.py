"""When votes of the served page are on the disk: before they are answered, or the answer is an error."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.serving.labelling import Annotator, polled, shown_of
from tests.worlds.repair_toy import tree
from trex.foundation.errors import RunError
from trex.labelling.poll import Poll
from trex.labelling.votes import VOTES, Vote, VoteLog, read_tally


def test_a_vote_that_cannot_be_written_is_answered_by_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with polled(folder) as site:
        ada = Annotator(site, "Ada")
        ada.vote("left")
        picture, before = ada.picture(), tree(folder)
        monkeypatch.setattr(os, "fsync", full)
        answer = ada.vote("right")
        assert answer.status == 503 and "not saved: no space left on the disk" in answer.text
        assert "not saved: no space left on the disk" in caplog.text
        assert str(folder) not in answer.text and ada.picture() == picture and tree(folder) == before
        monkeypatch.undo()
        assert ada.vote("right").status == 303


class LateLog(VoteLog):
    """Planted: a vote is answered first and written with the next one."""

    waiting: Vote | None = None

    def append(self, vote: Vote) -> None:
        if self.waiting is not None:
            super().append(self.waiting)
        self.waiting = vote


class UnsyncedLog(VoteLog):
    """Planted: a vote is written, and the disk may keep it or not."""

    def append(self, vote: Vote) -> None:
        with (self.path).open("a") as file:
            file.write(json.dumps(vote.model_dump(), sort_keys=True) + "\n")
        self.tally.take(vote)


def answered_votes_are_on_the_disk(
    folder: Path, make: Callable[[], VoteLog], monkeypatch: pytest.MonkeyPatch
) -> bool:
    """Whether every vote, at the moment of its answer, is in the file up to where the file was synced."""
    synced: dict[str, int] = {}
    real = os.fsync

    def seen(file: int) -> None:
        real(file)
        synced[Path(os.readlink(f"/proc/self/fd/{file}")).name] = os.fstat(file).st_size

    monkeypatch.setattr(os, "fsync", seen)
    with polled(folder, make()) as site:
        ada = Annotator(site, "Ada")
        for picture in ("p00003", "p00001", "p00002"):
            assert ada.vote("left", picture).status == 303
            if picture.encode() not in (folder / VOTES).read_bytes()[: synced.get(VOTES, 0)]:
                return False
    return True


def test_a_vote_is_answered_only_when_it_is_on_the_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = shown_of(folder)
    assert answered_votes_are_on_the_disk(folder, lambda: VoteLog(folder, shown), monkeypatch)


@pytest.mark.parametrize("planted", [LateLog, UnsyncedLog])
def test_a_vote_that_is_answered_too_early_would_be_caught(
    folder: Path, planted: type[VoteLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = shown_of(folder)
    assert not answered_votes_are_on_the_disk(folder, lambda: planted(folder, shown), monkeypatch)


ADA, BOB = (Vote(annotator=name, picture="p00001", label="left") for name in ("Ada", "Bob"))


def vote_at_once(vote: Callable[[Vote], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ada votes, and while her vote is synced, Bob's vote comes and has half a second to be saved."""
    real, threads = os.fsync, [threading.Thread(target=vote, args=(BOB,))]

    def with_bob(file: int) -> None:
        if not threads[0].ident:
            threads[0].start()
            threads[0].join(0.5)
        real(file)

    monkeypatch.setattr(os, "fsync", with_bob)
    vote(ADA)
    threads[0].join()
    monkeypatch.undo()


def test_two_votes_at_once_are_both_saved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = shown_of(folder)
    poll = Poll(shown, VoteLog(folder, shown))
    vote_at_once(poll.vote, monkeypatch)
    assert poll.close() == {"Ada": 1, "Bob": 1}
    assert read_tally(folder, shown).votes == {"Ada": {"p00001": "left"}, "Bob": {"p00001": "left"}}


def test_votes_without_a_lock_would_be_caught(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: both go straight to the file."""
    shown = shown_of(folder)
    log = VoteLog(folder, shown)
    vote_at_once(log.append, monkeypatch)
    log.close()
    with pytest.raises((RunError, AssertionError)):
        assert set(read_tally(folder, shown).votes) == {"Ada", "Bob"}
