"""One line of `draws.jsonl`: the input, cost and outcome of one step of the search."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from trex.foundation.errors import InputError, RunError
from trex.foundation.json_fields import finite, listed, mapping, short, text, whole
from trex.foundation.parse import parse_json
from trex.inference.rng import RngState
from trex.inference.types import PRIOR_CHAIN
from trex.query.schema import RenderSection
from trex.scenes.scene import Scene
from trex.worlds.latents import Latent, from_fields, to_fields

PRIOR, CHAIN, CONTROL = "prior", "chain", "control"
CONTROLS = (CONTROL, "control-2")  # the levels of the positive control, easiest first
BANK, LIKELY, CALIBRATION, SPREAD = "bank", "likely", "calibration", "spread"
NOISE = "noise"  # fresh noise draws of hits, one record each
FRESH = "fresh"  # of earlier versions: the mean over all fresh noise draws of a hit
RANDOM = (LIKELY, PRIOR, SPREAD)  # phases of random scenes at the deciding look
INDEPENDENT = (BANK, CALIBRATION, *RANDOM, NOISE, FRESH)  # phases whose draws are no steps of chains
# In the order of a search; the noise draws of any hit may follow it.
PHASES = (BANK, LIKELY, PRIOR, CALIBRATION, CHAIN, *CONTROLS, SPREAD)
Key = tuple[str, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A prior draw, or one step of a chain: the proposed latent, its score, and whether the chain accepted it.

    Phase "bank": a prior scene at the cheapest look. "likely": one that this look finds among the likeliest, at the
    deciding look, before the sample is rendered. "prior": one of the sample at the deciding look. "calibration":
    one of those at a look that may lead the chains. "control" and "control-2": chains toward easier targets.
    "spread": a member of the bank's spread sample at the deciding look. "noise": a hit with a noise seed that no
    search has seen; in runs of earlier versions "fresh": a hit as it was, with the mean over `render.fresh` such
    seeds. `chain` is -1 for all draws that are no step of a chain; `rank` is the look's place in the ladder, of a
    bank or calibration. A chain starts at a prior draw; a rejected step repeats the state. `log_probs` is empty if
    the latent is invalid (`log_prior` is -inf) or unchanged, and therefore not rendered. `visible` counts each
    object's pixels in the renderer's own index pass, at the look's size; it is empty without objects. `picture` is
    the content hash of a saved picture, or "". `rng` is the chain's random state after the step, `figures` the
    kernel's numbers about its trajectory, if it makes any; two of them matter elsewhere: with `resampled`, the step
    copied a state and its score from another chain, and with `is_warmup`, the draw is none of the target's.
    """

    phase: str
    chain: int
    index: int
    z: Latent
    is_accepted: bool
    log_prior: float
    log_weight: float
    log_accept_ratio: float
    log_probs: tuple[float, ...]
    visible: tuple[int, ...]
    picture: str = ""
    rng: RngState = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    rank: int = 0

    def __eq__(self, other: object) -> bool:
        """Whether both have the same line, every bit included."""
        return isinstance(other, Record) and to_line(self) == to_line(other)

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def scene(self) -> Scene:
        """The latent as a scene of CLEVR's world."""
        assert isinstance(self.z, Scene), f"{self.z!r} is no scene: its world was not asked for its scenes"
        return self.z

    @property
    def key(self) -> Key:
        """The step's identity as the disk has it: phase, chain or else the look's rank, and index."""
        return (self.phase, self.rank or self.chain, self.index)

    @property
    def is_rendered(self) -> bool:
        """Whether this step was rendered."""
        return bool(self.log_probs) and not self.is_copy

    def pictures(self, render: RenderSection) -> int:
        """The pictures that were rendered for this step at its own look: its views and noise draws."""
        if not self.is_rendered:
            return 0
        if self.phase in (BANK, CALIBRATION):
            return 1
        return (render.fresh or 0) if self.phase == FRESH else render.pictures

    @property
    def inner_pictures(self) -> int:
        """The pictures that were rendered at a cheaper look to lead this step of a chain."""
        return int(self.figures.get("inner_renders", 0))

    @property
    def is_copy(self) -> bool:
        """Whether this step copied the state of another chain, which was rendered there."""
        return bool(self.figures.get("resampled", 0))

    @property
    def is_warmup(self) -> bool:
        """Whether the kernel says that the draw is none of the target's."""
        return bool(self.figures.get("is_warmup", 0))

    @property
    def probs(self) -> tuple[float, ...]:
        """The model's answer distribution, empty if nothing was rendered."""
        return tuple(math.exp(value) for value in self.log_probs)


def to_line(record: Record) -> str:
    """The record as one line of strict JSON; floats keep every bit, -inf becomes null."""
    fields = {
        "phase": record.phase,
        "chain": record.rank or record.chain,
        "index": record.index,
        "accepted": record.is_accepted,
        "log_prior": _out(record.log_prior),
        "log_weight": _out(record.log_weight),
        "log_accept_ratio": _out(record.log_accept_ratio),
        "log_probs": [_out(value) for value in record.log_probs],
        "visible": list(record.visible),
        "picture": record.picture,
        **to_fields(record.z),
        "rng": dict(record.rng),
    } | ({"figures": dict(record.figures)} if record.figures else {})
    return json.dumps(fields, separators=(",", ":"), allow_nan=False) + "\n"


def from_line(line: str) -> Record:
    """The record in a line, with every field's type checked; RunError if the line is anything else."""
    try:
        fields = mapping(parse_json(line, "the line"), "the line")
        phase, chain = text(fields["phase"], "phase"), whole(fields["chain"], "chain")
        rank = max(chain, 0) if phase in (BANK, CALIBRATION) else 0
        return Record(
            phase=phase,
            chain=PRIOR_CHAIN if rank else chain,
            rank=rank,
            index=whole(fields["index"], "index"),
            z=from_fields(fields),
            is_accepted=_flag(fields["accepted"]),
            log_prior=_in(fields["log_prior"], "log_prior"),
            log_weight=_in(fields["log_weight"], "log_weight"),
            log_accept_ratio=_in(fields["log_accept_ratio"], "log_accept_ratio"),
            log_probs=tuple(_in(value, "log_probs") for value in listed(fields["log_probs"], "log_probs")),
            visible=tuple(_count(value) for value in listed(fields["visible"], "visible")),
            picture=text(fields["picture"], "picture"),
            rng=mapping(fields["rng"], "rng"),
            figures={
                name: _figure(value, name)
                for name, value in mapping(fields.get("figures", {}), "figures").items()
            },
        )
    except (ValueError, KeyError, TypeError, OverflowError, InputError) as error:
        raise RunError(f"not a draw: {line[:80]!r} ({type(error).__name__}: {error})") from error


def _out(value: float) -> float | str | None:
    if math.isnan(value):
        raise RunError("a log probability is NaN; the model or the target is broken")
    if math.isinf(value):
        return None if value < 0 else "inf"
    return value


def _in(value: object, where: str) -> float:
    """A number; null means -inf, "inf" means inf."""
    if value is None:
        return -math.inf
    return math.inf if value == "inf" else finite(value, where)


def _figure(value: object, name: str) -> float:
    """A finite number or a flag, as it was written: the line has to come back byte for byte."""
    return value if isinstance(value, bool | int) else finite(value, name)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"accepted is {short(value)}; expected true or false")
    return value


def _count(value: object) -> int:
    count = whole(value, "visible")
    if count < 0:
        raise InputError(f"visible is {count}; pixels are not negative")
    return count
