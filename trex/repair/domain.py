"""What a repair of decoded pictures and one of rendered scenes do differently: six functions, and how they are opened.

The steps (`steps`, `correct`, `report`) are the same for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from torch import nn

from trex.foundation.errors import RunError
from trex.foundation.progress import Progress
from trex.repair.files import Array, Fields, Flags, Floats, Found, Ints, Sources
from trex.repair.folder import RepairFolder, Step
from trex.repair.results import Component, Scenario
from trex.repair.settings import DecoderQuery, RepairQuery, SceneQuery

Right = Mapping[str, Flags]  # of each test, whether each picture, object or answer is right


class Voters(NamedTuple):
    """Who votes on pictures: people, whose CSV texts are given by their paths, or a committee (None)."""

    texts: Mapping[Path, str] | None = None
    without: tuple[str, ...] = ()


Work = Callable[[Path, Progress], Found]  # a step in its folder: writes its files, and gives what it found


class Encoded(NamedTuple):
    """The mistakes that are clustered: codes (n, d), what is stored beside the mixture, and components in words.

    `describe`: given the step's folder, the members (places among the codes) and the weight of each component.
    """

    codes: Floats
    describe: Callable[[Path, Mapping[int, Ints], Mapping[int, float]], list[Component]]
    arrays: Mapping[str, Array] = {}
    facts: Mapping[str, object] = {}  # of the result: the model's classes, or the number of dimensions
    regularization: float = 1e-6  # of the mixture's covariances


class Judging(NamedTuple):
    """What decides the label step besides the query, and the step."""

    given: Fields
    carry_out: Work


class Prepared(NamedTuple):
    """What a repair works on, and what opens it."""

    sources: Sources
    open: Callable[[], AbstractContextManager[object]]


class Plan(NamedTuple):
    """How models are tuned and compared: controls (kinds of pictures in the place of the scenarios'), and tests."""

    controls: Sequence[str]
    compared: Sequence[str]
    choose_by: str  # chooses the weight
    bound_by: str | None  # bounds the cost of a weight, against weight 0
    epoch_by: str = ""  # chooses the epoch; "" if the last one is taken


class Bench(Protocol):
    """What models are tuned on and judged by."""

    @property
    def plan(self) -> Plan: ...

    def before(self) -> Right:
        """What the model has right before it is tuned."""

    def tuned(self, kind: str, weight: float, seed: int, stem: Path) -> tuple[nn.Module, int | None]:
        """A model tuned on the scenarios or on a control, as its weights are stored; and its epoch, if one was chosen.

        What is kept to resume lies in files that begin with `stem`.
        """

    def right(self, network: nn.Module) -> Right: ...

    def clusters(self, test: str) -> Sequence[int] | None:
        """The origin of each picture of a test; None if no two have the same."""

    def card(self) -> dict[str, object]:
        """The card of a tuned model, without what one seed decides."""


class Tuning(NamedTuple):
    """The scenarios that are corrected, the numbers of those that are too impure, and what opens the bench for them."""

    scenarios: list[Scenario]
    impure: tuple[int, ...]
    bench: Callable[[Progress], Bench]


@dataclass(frozen=True)
class Domain:
    """The functions of one domain; `folder` is the open repair, `loaded` what its steps work with.

    `records` are the classes of what its steps find; a step that is missing there finds nothing.
    """

    records: Mapping[Step, type[Found]]
    prepare: Callable[
        ..., Prepared
    ]  # (query, place or None if there is no folder yet, data, processes); InputError for what does not fit
    grow: Callable[..., Work]  # (folder, loaded): writes mistakes
    encode: Callable[..., Encoded]  # (folder, loaded)
    draw: Callable[..., None]  # (folder, loaded, place): the pictures to vote on, if people do
    judge: Callable[..., Judging]  # (folder, loaded, voters): the components, by votes or by the truth
    tune: Callable[..., Tuning]  # (folder, loaded)
    show: Callable[..., dict[str, object]]  # (folder, results): what the page has besides the common parts
    measure: Callable[..., None] | None = (
        None  # (folder, loaded, progress): a further step after the correction
    )


def domain_of(query: RepairQuery) -> Domain:
    if isinstance(query, SceneQuery):
        from trex.repair.scenes.domain import SCENES

        return SCENES
    from trex.repair.decoders.domain import DECODERS

    return DECODERS


def prepared(
    folder: RepairFolder[DecoderQuery | SceneQuery], data: Path | None = None, processes: int | None = None
) -> Prepared:
    """Models and data of an open repair; RunError if it was begun with others."""
    found = domain_of(folder.query).prepare(folder.query, folder.path, data, processes)
    now, then = found.sources.model_dump(), folder.sources.model_dump()
    for name in now:
        if now[name] != then[name]:
            raise RunError(
                f"{folder.path} was begun with another {name} ({then[name]}, now {now[name]}); give that again, or "
                "begin anew"
            )
    return found
