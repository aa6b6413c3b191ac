"""Sequential Monte Carlo as a search runs it: its particles are the chains, and each round is one move of them all.

Between levels a round moves nothing: each particle takes its ancestor's state, accepted and not rendered (figure
`resampled`). Rounds up to the last resampling have the figure `is_warmup`: their draws lie in an easier level set.
The level and everything else that all particles share is in the random state of particle 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from trex.foundation.errors import InputError, RunError
from trex.foundation.json_fields import finite, mapping, whole
from trex.inference.chains import Checkpoint
from trex.inference.metropolis import Metropolis
from trex.inference.rng import PARTICLE_STREAM, RngState, load_rng, save_rng, stream
from trex.inference.smc import Particles, particles, select, step
from trex.inference.targets import GaussianTarget
from trex.inference.types import Draw
from trex.query.schema import SearchSection
from trex.worlds.kernels import SamplerKind
from trex.worlds.latents import Latent

if TYPE_CHECKING:
    from trex.worlds.world import OpenWorld

LEAST = 8  # particles; half of them are dropped at each level
NUMBERS = ("temperature", "level", "log_above", "log_below", "log_mass", "power")  # fields of Particles


class SmcOptions(BaseModel):
    """`moves` of every particle at each level."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    moves: Annotated[int, Field(strict=True, ge=1, le=1000)] = 5


@dataclass(frozen=True)
class Progress:
    """Particles between two rounds: resampled `levels` times, then moved `moved` times; where each one descends from.

    `lines` are the places of the starts.
    """

    particles: Particles[Latent]
    lines: tuple[int, ...]
    levels: int
    moved: int


@dataclass(frozen=True)
class SmcSampler:
    """Satisfies `Sampler`; `kernel` moves the particles, `moves` times at each level."""

    kernel: Callable[[GaussianTarget], Metropolis[Latent]]
    moves: int

    def __call__(
        self, target: GaussianTarget, begin: Checkpoint[Latent], n_rounds: int
    ) -> Iterator[Checkpoint[Latent]]:
        """Yields rounds from the checkpoint up to index n_rounds - 1."""
        kernel = self.kernel(target)
        now = _read(begin) if begin.next_index else self._first(begin)
        for index in range(begin.next_index, n_rounds):
            if now.particles.power < 1.0 and now.moved >= self.moves:
                now, draws = _resample(target, now)
            else:
                moved, draws = step(kernel, now.particles)
                now = replace(now, particles=moved, moved=now.moved + 1)
            yield _round(index, now, draws)

    def _first(self, begin: Checkpoint[Latent]) -> Progress:
        """The particles at the starts, due for their first level."""
        first = load_rng(begin.rng_states[0])
        shared = stream(int(first.integers(2**63)), PARTICLE_STREAM)
        rngs = (save_rng(first), *begin.rng_states[1:], save_rng(shared))
        return Progress(particles(begin.states, rngs), tuple(range(len(begin.states))), 0, self.moves)


def _resample(target: GaussianTarget, now: Progress) -> tuple[Progress, list[Draw[Latent]]]:
    chosen, ancestors = select(target, now.particles)
    draws = [
        Draw(state, proposed=replace(state, picture=None), was_rendered=False, figures={"resampled": 1})
        for state in chosen.states
    ]
    lines = tuple(now.lines[place] for place in ancestors)
    return replace(now, particles=chosen, lines=lines, levels=now.levels + 1, moved=0), draws


def _round(index: int, now: Progress, draws: Sequence[Draw[Latent]]) -> Checkpoint[Latent]:
    """The round; every draw has the figures of `now`."""
    marked = []
    for chain, draw in enumerate(draws):
        is_warmup = now.particles.power < 1.0 or "resampled" in draw.figures
        figures = {
            "level": now.levels,
            "power": int(now.particles.power),
            "line": now.lines[chain],
            "is_warmup": int(is_warmup),
        }
        whole = {**figures, **draw.figures}
        marked.append(replace(draw, chain=chain, index=index, is_warmup=is_warmup, figures=whole))
    return Checkpoint(now.particles.states, _saved(now), index + 1, tuple(marked))


def _saved(now: Progress) -> tuple[RngState, ...]:
    """The random state of each particle with its line; that of particle 0 with everything shared."""
    *rngs, shared = now.particles.rng_states
    numbers = {name: _out(getattr(now.particles, name)) for name in NUMBERS}
    common = {"rng": dict(shared), "levels": now.levels, "moved": now.moved, **numbers}
    states: list[dict[str, object]] = [
        {"rng": dict(rng), "line": line} for rng, line in zip(rngs, now.lines, strict=True)
    ]
    return ({**states[0], "smc": common}, *states[1:])


def _read(begin: Checkpoint[Latent]) -> Progress:
    """The particles of a checkpoint that `_saved` made; RunError for any other."""
    try:
        return _parsed(begin)
    except (InputError, KeyError) as error:
        raise RunError(
            f"the stored random states are not those of kernel 'smc' ({error}); start a new run"
        ) from error


def _parsed(begin: Checkpoint[Latent]) -> Progress:
    common = mapping(begin.rng_states[0]["smc"], "smc")
    rngs = [mapping(state["rng"], "rng") for state in (*begin.rng_states, common)]
    kept = Particles(begin.states, tuple(rngs), **{name: _in(common, name) for name in NUMBERS})
    lines = tuple(whole(state["line"], "line") for state in begin.rng_states)
    return Progress(kept, lines, whole(common["levels"], "levels"), whole(common["moved"], "moved"))


def _out(value: float) -> float | None:
    return None if value == -math.inf else value


def _in(fields: Mapping[str, object], name: str) -> float:
    return -math.inf if fields[name] is None else finite(fields[name], name)


def _make(world: OpenWorld, search: SearchSection) -> SmcSampler:
    return SmcSampler(world.kernel, SmcOptions.model_validate(search.options).moves)


def _check(search: SearchSection) -> None:
    if search.steps and search.chains < LEAST:
        raise InputError(
            f"search.chains = {search.chains}: kernel 'smc' uses chains as particles and needs at least {LEAST}, "
            "better 50; raise chains"
        )


SAMPLER = SamplerKind(
    "smc",
    ("scene", "vector"),
    _make,
    _check,
    has_whole_warmup=False,
    warmup_share=0.0,  # it marks its own
    starts_at_prior=True,
    options=SmcOptions,
)
