"""Records from draws, and draws from records, so that a resumed run continues exactly where it stopped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from trex.inference.chains import Checkpoint, Round, resume, start
from trex.inference.types import PRIOR_CHAIN, Draw, Evaluation, Picture, State, Target
from trex.render.picture import Picture as ScenePicture
from trex.runs.record import PRIOR, Record
from trex.worlds.latents import Latent, form_of

SavePicture = Callable[[Picture], str]  # saves a picture in the run folder; returns its name there


def independent_record(
    phase: str, draw: Draw[Latent], target: Target, save: SavePicture, rank: int = 0
) -> Record:
    """The record of a draw that is no step of a chain; saves its picture if it is a hit at the deciding look."""
    record = _record(phase, draw.chain, draw.index, draw.z, draw.evaluation)
    is_saved = phase == PRIOR and target.is_hit(draw.evaluation.log_probs)
    picture = save(_picture(draw.evaluation)) if is_saved else ""
    return replace(record, is_accepted=True, picture=picture, rank=rank)


def round_records(phase: str, done: Round[Latent], target: Target, save: SavePicture) -> list[Record]:
    """The records of one step of every chain; saves the pictures of new states and of hits.

    A copy of another chain's state has no picture of its own: after a resume there would be none to save.
    """
    records = []
    for draw, info, rng in zip(done.draws, done.infos, done.checkpoint.rng_states, strict=True):
        scored = info.evaluation
        record = _record(phase, draw.chain, draw.index, info.proposed, scored)
        if scored is not None and info.was_rendered and (info.is_accepted or target.is_hit(scored.log_probs)):
            record = replace(record, picture=save(_picture(scored)))
        records.append(
            replace(
                record,
                is_accepted=info.is_accepted,
                log_accept_ratio=info.log_accept_ratio,
                rng=rng,
                figures=info.figures,
            )
        )
    return records


def _record(phase: str, chain: int, index: int, z: Latent, scored: Evaluation | None) -> Record:
    if scored is None:
        return Record(phase, chain, index, z, False, -np.inf, -np.inf, -np.inf, (), ())
    log_probs = tuple(scored.log_probs.tolist())
    scores = (scored.log_prior, scored.log_weight, 0.0)
    return Record(phase, chain, index, z, False, *scores, log_probs, _visible(z, scored))


def _visible(z: Latent, scored: Evaluation) -> tuple[int, ...]:
    """The pixels of each object; empty if the latent has no objects, or without a picture."""
    objects = form_of(z).objects(z)
    if not objects or scored.picture is None:
        return ()
    assert isinstance(scored.picture, ScenePicture), "a picture of a scene tells its objects apart"
    return tuple(scored.picture.visible_pixels(len(objects)).tolist())


def _picture(scored: Evaluation) -> Picture:
    assert scored.picture is not None, "a picture is kept when it is made"
    return scored.picture


def evaluation(record: Record) -> Evaluation:
    """The score of a rendered record's latent."""
    return Evaluation(record.log_prior, record.log_weight, np.array(record.log_probs), None)


def independent_draws_of(records: Sequence[Record], phase: str) -> list[Draw[Latent]]:
    """The draws of a phase whose draws are no steps of chains, by index."""
    rows = sorted((record for record in records if record.phase == phase), key=lambda record: record.index)
    return [Draw(PRIOR_CHAIN, row.index, row.z, evaluation(row), True, False) for row in rows]


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
        state = State(row.z, evaluation(row)) if row.is_accepted else state
        yield state


def chain_draws(
    records: Sequence[Record], phase: str, starts: Sequence[State[Latent]], warmup: int
) -> list[Draw[Latent]]:
    """The draws of all chains of a phase; a rejected step repeats the previous state."""
    return [
        Draw(
            chain, row.index, state.z, state.evaluation, row.is_accepted, row.index < warmup or row.is_warmup
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
    return resume(now, [chains[chain][done - 1].rng for chain in range(len(starts))], done)
