"""Segments that come late, twice and in any order make whole rounds in their order, each record once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trex.farm.workers.reassembly import AHEAD, ChainReassembly, DrawReassembly
from trex.farm.workers.tasks import ChainSegment, DrawSegment, Segment
from trex.foundation.errors import RunError
from trex.inference.chains import Checkpoint
from trex.inference.targets import high_confidence
from trex.inference.types import State
from trex.runs.record import CALIBRATION, NOISE, PRIOR, Key, Record
from trex.search.engine import Independent

RUN, TARGET = Path("run"), high_confidence(("no", "yes"), "yes")
STEPS = 4


def begin(chains: int, at: int = 0) -> Checkpoint[np.ndarray]:
    """Chain c stands at (c, at); its random state says so too."""
    answers = np.log([0.5, 0.5])
    states = tuple(State(np.array([float(c), float(at)]), 0.0, 0.0, answers) for c in range(chains))
    return Checkpoint(states, tuple({"chain": c, "at": at} for c in range(chains)), at)


def made(segment: Segment) -> list[Record]:
    """What a worker would answer; it finds out whether the chain goes on from where it was."""
    if isinstance(segment, ChainSegment):
        for place, chain in enumerate(segment.chains):
            at = segment.begin.next_index
            assert segment.begin.rng_states[place] == {"chain": chain, "at": at}
            assert list(segment.begin.states[place].z) == [float(chain), float(at)]
    return [record(key) for key in segment.keys]


def record(key: Key) -> Record:
    phase, chain, index = key
    z = (float(chain), float(index + 1))
    rng = {"chain": chain, "at": index + 1}
    return Record(phase, chain, index, z, True, 0.0, 0.0, 0.0, (-0.7, -0.7), (), rng=rng)


def played(reassembly: ChainReassembly, rng: random.Random, doubles: float = 0.4) -> list[Key]:
    """The keys that the book gives out, where answers come in any order, some of them twice, some very late."""
    out: list[Segment] = []
    old: list[Segment] = []
    given_out: list[Key] = []
    for _ in range(10_000):
        out += reassembly.due()
        if reassembly.is_complete:
            return given_out
        segment = out.pop(rng.randrange(len(out)))
        reassembly.accept(segment, made(segment))
        old.append(segment)
        if rng.random() < doubles:
            again = rng.choice(old)
            reassembly.accept(again, [record(key) for key in again.keys])
        for records in reassembly.whole():
            given_out += [record.key for record in records]
    raise AssertionError("it never ends")


def in_order(chains: int, first: int, end: int) -> list[Key]:
    return [("chain", chain, index) for index in range(first, end) for chain in range(chains)]


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    chains=st.integers(1, 5),
    chains_per_task=st.integers(1, 6),
    first=st.integers(0, 3),
    end=st.integers(0, 21),
)
def test_rounds_come_whole_and_in_order(
    seed: int, chains: int, chains_per_task: int, first: int, end: int
) -> None:
    reassembly = ChainReassembly(
        RUN, "chain", TARGET, begin(chains, first), end, steps=STEPS, chains_per_task=chains_per_task
    )
    assert played(reassembly, random.Random(seed)) == in_order(chains, first, end)


def test_taking_a_segment_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: what is known already is taken in again."""
    real = ChainReassembly.accept

    def accept(self: ChainReassembly, segment: Segment, records: Sequence[Record]) -> None:
        assert isinstance(segment, ChainSegment)
        group = next(group for group in self._groups if group.chains == segment.chains)
        group.at = segment.begin.next_index
        real(self, segment, records)

    monkeypatch.setattr(ChainReassembly, "accept", accept)
    reassembly = ChainReassembly(RUN, "chain", TARGET, begin(3), 20, steps=STEPS, chains_per_task=1)
    assert played(reassembly, random.Random(1)) != in_order(3, 0, 20)


def test_giving_rounds_out_early_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: a round goes out as soon as any chain has taken it."""

    def whole(self: ChainReassembly) -> object:
        for group in self._groups:
            while group.results:
                self._done = max(self._done, group.results[0][0].index + 1)
                yield group.results.pop(0)

    monkeypatch.setattr(ChainReassembly, "whole", whole)
    reassembly = ChainReassembly(RUN, "chain", TARGET, begin(3), 20, steps=STEPS, chains_per_task=1)
    assert played(reassembly, random.Random(1)) != in_order(3, 0, 20)


def test_no_chain_runs_far_ahead() -> None:
    """What lies beyond the point where a search stops was in vain, so it is bounded."""
    reassembly = ChainReassembly(RUN, "chain", TARGET, begin(2), 1000, steps=STEPS, chains_per_task=1)
    slow, fast = reassembly.due()
    steps = 0
    while True:
        reassembly.accept(fast, made(fast))
        steps += fast.end - fast.begin.next_index
        due = reassembly.due()
        if not due:
            break
        (fast,) = due
    assert steps == AHEAD * STEPS
    assert not list(reassembly.whole())
    reassembly.accept(slow, made(slow))
    assert len(list(reassembly.whole())) == STEPS


def test_an_answer_to_another_question_is_refused() -> None:
    reassembly = ChainReassembly(RUN, "chain", TARGET, begin(2), 20, steps=STEPS, chains_per_task=1)
    segment, other = reassembly.due()
    with pytest.raises(RunError, match="another version"):
        reassembly.accept(segment, made(other))
    with pytest.raises(RunError, match="returned nothing"):
        reassembly.accept(segment, [])


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    first=st.integers(0, 5),
    stops=st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
def test_prior_draws_come_in_order(seed: int, first: int, stops: list[int]) -> None:
    """Asked for a few at a time, with segments out beyond, as for a common target."""
    rng, reassembly, out, found = (
        random.Random(seed),
        DrawReassembly(RUN, Independent(PRIOR), first, 4),
        [],
        [],
    )
    stop = first
    for more in stops:
        stop += more
        while not reassembly.is_complete(stop):
            out += reassembly.due(stop + 8)
            segment: DrawSegment = out.pop(rng.randrange(len(out)))
            reassembly.accept(segment, made(segment))
            if rng.random() < 0.4:
                out.append(segment)  # twice
            found += [record.index for record in reassembly.whole(stop)]
    assert found == list(range(first, stop))


def test_every_segment_carries_the_latents_of_its_own_draws_alone() -> None:
    what = Independent(NOISE, zs={index: np.array([float(index), 0.0]) for index in range(3, 13)})
    due = DrawReassembly(RUN, what, 3, 4).due(13)
    assert [(segment.indices.start, segment.indices.stop) for segment in due] == [(3, 7), (7, 11), (11, 13)]
    assert [list(segment.what.zs or ()) for segment in due] == [list(segment.indices) for segment in due]


def test_a_book_of_one_look_takes_no_draws_of_another() -> None:
    """The looks of a calibration have the same indices; an answer of the last look may come late."""
    first, second = Independent(CALIBRATION, "a", 1), Independent(CALIBRATION, "b", 2)
    reassembly = DrawReassembly(RUN, second, 0, 4)
    (segment,) = DrawReassembly(RUN, first, 0, 4).due(4)
    assert not reassembly.owns(segment) and reassembly.owns(DrawSegment(RUN, second, range(4)))
    assert not reassembly.owns(DrawSegment(RUN, Independent(PRIOR), range(4)))
    with pytest.raises(RunError, match="another version"):
        reassembly.accept(DrawSegment(RUN, second, range(4)), made(segment))
