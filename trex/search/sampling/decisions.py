"""What a search decides from what it has drawn, so that a resumed run and a report decide the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trex.inference.chains import starts
from trex.inference.rng import START_STREAM, stream
from trex.inference.starts import dispersed_starts
from trex.inference.statistics.control import Attempt, Control, attempt, controls
from trex.inference.statistics.importance import resample
from trex.inference.targets import GaussianTarget
from trex.inference.types import State
from trex.query.schema import Query, SearchSection
from trex.runs.record import CONTROLS, Record
from trex.runs.replay import state_hits
from trex.search.hits import Distinct
from trex.search.sampling.calibration import LookCalibration, calibration_places, read_calibration
from trex.search.sampling.prior_plan import bank_draws
from trex.search.sampling.prior_sample import PriorSample, log_weights
from trex.worlds.kernels import samplers
from trex.worlds.latents import Latent
from trex.worlds.looks import ladder

CONTROL_SEED = 1 << 32  # added to the query's seed for each level, to give its chains other random numbers


def chain_starts(
    sample: PriorSample, options: SearchSection, are_distinct: Distinct
) -> tuple[State[Latent], ...]:
    """The prior draws at which the chains start; from a bank, of different clusters.

    A sampler that starts at the prior gets the first ones; from a bank, resampled as the prior has them.
    """
    sampler = samplers().get(options.kernel)
    if sampler and sampler.starts_at_prior:
        return _prior_starts(sample, options)
    if not options.bank:
        return starts(options.seed, sample.draws[: options.prior_scenes], options.chains)
    picked = dispersed_starts(
        options.seed,
        [draw.z for draw in sample.draws],
        np.array([draw.state.log_weight for draw in sample.draws]),
        sample.inclusion,
        lambda item, other: not are_distinct(item, other),
        options.chains,
    )
    return tuple(sample.draws[place].state for place in picked)


def _prior_starts(sample: PriorSample, options: SearchSection) -> tuple[State[Latent], ...]:
    places = list(range(options.chains))
    if options.bank:
        rng = stream(options.seed, START_STREAM)
        places = resample(rng, -np.log(sample.inclusion), options.chains)
    return tuple(sample.draws[place].state for place in places)


def controls_of(
    sample: PriorSample, target: GaussianTarget, options: SearchSection
) -> tuple[Control[Latent], ...]:
    """The levels of the positive control; none if the prior sample knows the mass of no easier level set."""
    return controls(sample.draws, sample.selection, target, options.chains)


def control_starts(
    rank: int, easier: Control[Latent], options: SearchSection
) -> tuple[int, tuple[State[Latent], ...]]:
    """The seed and the starts of the chains of a level: prior draws outside it, as the prior has them.

    Not those near it, as for the search itself: from there, a kernel that ignores the classifier may pass as well.
    """
    seed = options.seed + (rank + 1) * CONTROL_SEED
    picked = resample(stream(seed, START_STREAM), np.log(easier.weights), options.chains)
    return seed, tuple(easier.outside[k].state for k in picked)


def attempt_of(
    records: Sequence[Record], rank: int, easier: Control[Latent], end: int | None = None
) -> Attempt:
    """What the chains of a level have done, by the records of its steps before index `end`, or all."""
    return attempt(easier, state_hits(records, CONTROLS[rank], easier.target, easier.chains, end))


def calibration_of(
    query: Query, records: Sequence[Record], sample: PriorSample
) -> tuple[tuple[int, ...], LookCalibration]:
    """The places in the sample of the calibration's scenes, and what the records hold of it."""
    weights = log_weights(bank_draws(records))
    bank = weights[sample.selection.members]
    places = calibration_places(query.search.seed, sample)
    return places, read_calibration(records, ladder(query.render), places, sample, bank)
