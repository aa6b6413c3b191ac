"""Records from draws, and draws from records, so that a resumed run continues exactly where it stopped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from trex.inference.chains import Checkpoint, start
from trex.inference.rng import RngState
from trex.inference.types import Draw, Picture, State, Target
from trex.render.picture import Picture as ScenePicture
from trex.runs.record import RANDOM, Record
from trex.worlds.latents import Latent, form_of

SavePicture = Callable[[Picture], str]  # saves a picture in the run folder; returns its name there


def independent_record(
    phase: str, draw: Draw[Latent], target: Target, save: SavePicture, rank: int = 0
) -> Record:
    """The record of a draw that is no step of a chain; saves its picture if it is a hit at the deciding look."""
    is_saved = phase in RANDOM and target.is_hit(draw.state.log_probs)
    return _record(phase, draw, draw.state, save if is_saved else None, rank=rank)


def round_records(phase: str, done: Checkpoint[Latent], target: Target, save: SavePicture) -> list[Record]:
    """The records of one step of every chain; saves the pictures of new states and of hits.

    A copy of another chain's state has no picture of its own: after a resume there would be none to save.
    """
    records = []
    for draw, rng in zip(done.draws, done.rng_states, strict=True):
        assert draw.proposed is not None, "a step tries a point"
        is_saved = draw.was_rendered and (draw.is_accepted or target.is_hit(draw.proposed.log_probs))
        records.append(_record(phase, draw, draw.proposed, save if is_saved else None, rng=rng))
    return records


def _record(
    phase: str,
    draw: Draw[Latent],
    scored: State[Latent],
    save: SavePicture | None,
    rng: RngState | None = None,
    rank: int = 0,
) -> Record:
    picture = ""
    if save is not None:
        assert scored.picture is not None, "a picture is kept when it is rendered"
        picture = save(scored.picture)
    return Record(
        phase=phase,
        chain=draw.chain,
        index=draw.index,
        z=scored.z,
        is_accepted=draw.is_accepted,
        log_prior=scored.log_prior,
        log_weight=scored.log_weight,
        log_accept_ratio=draw.log_accept_ratio,
        log_probs=tuple(scored.log_probs.tolist()),
        visible=_visible(scored),
        picture=picture,
        rng=rng or {},
        figures=draw.figures,
        rank=rank,
    )


def _visible(scored: State[Latent]) -> tuple[int, ...]:
    """The pixels of each object; empty if the latent has no objects, or without a picture."""
    objects = form_of(scored.z).objects(scored.z)
    if not objects or scored.picture is None:
        return ()
    assert isinstance(scored.picture, ScenePicture), "a picture of a scene tells its objects apart"
    return tuple(scored.picture.visible_pixels(len(objects)).tolist())


def state_of(record: Record) -> State[Latent]:
    """A record's latent with its score; its picture is on the disk."""
    return State(record.z, record.log_prior, record.log_weight, np.array(record.log_probs))


def independent_draws_of(records: Sequence[Record], phase: str) -> list[Draw[Latent]]:
    """The draws of a phase whose draws are no steps of chains, by index."""
    rows = sorted((record for record in records if record.phase == phase), key=lambda record: record.index)
    return [Draw(state_of(row), index=row.index) for row in rows]


def by_chain(records: Sequence[Record], phase: str) -> dict[int, list[Record]]:
    """The steps of each chain of a phase, by index."""
    chains: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        if record.phase == phase:
            chains[record.chain].append(record)
    return {chain: sorted(rows, key=lambda row: row.index) for chain, rows in sorted(chains.items())}


def states(rows: Sequence[Record], first: State[Latent]) -> Iterator[State[Latent]]:
    """The state after each step of a chain that started at `first`."""
    state = first
    for row in rows:
        state = state_of(row) if row.is_accepted else state
        yield state


def chain_draws(
    records: Sequence[Record], phase: str, starts: Sequence[State[Latent]], warmup: int
) -> list[Draw[Latent]]:
    """The draws of all chains of a phase; a rejected step repeats the previous state."""
    return [
        Draw(
            state,
            row.is_accepted,
            log_accept_ratio=row.log_accept_ratio,
            was_rendered=row.is_rendered,
            figures=row.figures,
            chain=chain,
            index=row.index,
            is_warmup=row.index < warmup or row.is_warmup,
        )
        for chain, rows in by_chain(records, phase).items()
        for row, state in zip(rows, states(rows, starts[chain]), strict=True)
    ]


def state_hits(
    records: Sequence[Record], phase: str, target: Target, n_chains: int, end: int | None = None
) -> list[list[bool]]:
    """For each chain of a phase, whether its state after each of its renders hits this target, in order.

    Steps before index `end` alone, or all. The chains start outside the target. A proposal that hits counts only if the
    chain accepted it: proposals may reach farther than the prior does.
    """
    chains = by_chain(records, phase)
    return [_state_hits(chains.get(chain, ()), target, end) for chain in range(n_chains)]


def _state_hits(rows: Sequence[Record], target: Target, end: int | None) -> list[bool]:
    hits, is_inside = [], False
    for row in rows:
        if end is not None and row.index >= end:
            break
        if row.is_accepted and row.log_probs:
            is_inside = target.is_hit(np.array(row.log_probs))
        if row.is_rendered:
            hits.append(is_inside)
    return hits


def checkpoint(
    records: Sequence[Record], phase: str, starts: Sequence[State[Latent]], seed: int
) -> Checkpoint[Latent]:
    """Where the chains of a phase resume: after the last step that every chain has taken."""
    chains = by_chain(records, phase)
    done = min((len(chains.get(chain, ())) for chain in range(len(starts))), default=0)
    if done == 0:
        return start(seed, starts)
    now = [list(states(chains[chain][:done], first))[-1] for chain, first in enumerate(starts)]
    return Checkpoint(tuple(now), tuple(chains[chain][done - 1].rng for chain in range(len(starts))), done)
