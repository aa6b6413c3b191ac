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

from trex.foundation.progress import Progress
from trex.repair.files import Fields, Flags, Found, Sources
from trex.repair.folder import Step
from trex.repair.results import Scenario

Right = Mapping[str, Flags]  # of each test, whether each picture, object or answer is right


class Voters(NamedTuple):
    """Who votes on pictures: people, whose CSV texts are given by their paths, or a committee (None)."""

    texts: Mapping[Path, str] | None = None
    without: tuple[str, ...] = ()


Work = Callable[[Path, Progress], Found]  # a step in its folder: writes its files, and gives what it found


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


Opened = tuple[Sources, Callable[[], AbstractContextManager[object]]]  # what is worked on, and what opens it
Tuning = tuple[
    list[Scenario], tuple[int, ...], Callable[[Progress], Bench]
]  # the scenarios that are corrected, the numbers of those that are too impure, and what opens the bench for them


@dataclass(frozen=True)
class Domain:
    """The functions of one domain; `folder` is the open repair, `loaded` what its steps work with.

    `records` are the classes of what its steps find; a step that is missing there finds nothing. `prepare` takes None
    for the place if there is no folder yet, and raises InputError for what does not fit together.
    """

    records: Mapping[Step, type[Found]]
    prepare: Callable[..., Opened]  # (query, place, data, processes)
    grow: Callable[..., Work]  # (folder, loaded): writes mistakes
    cluster: Callable[..., Work]  # (folder, loaded): groups the mistakes
    judge: Callable[
        ..., tuple[Fields, Work]
    ]  # (folder, loaded, voters): what decides it besides the query, the step
    tune: Callable[..., Tuning]  # (folder, loaded)
    show: Callable[..., dict[str, object]]  # (folder, results): what the page has besides the common parts
    draw: Callable[..., None] | None = None  # (folder, loaded, place): the pictures to vote on
    measure: Callable[..., None] | None = (
        None  # (folder, loaded, progress): a further step after the correction
    )
