"""What an audit can be told, with defaults and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from trex.foundation.options import Option, Options
from trex.query.verb_options import Device, Endpoint, MaxRequests, Model, Processes, TrustRemoteCode, World

MAX_SCENES = 1_000_000
MAX_PROBED = 1000
MAX_RARE = 100_000
MAX_WORDINGS = 20


def _sure(value: float) -> float:
    if not 0.5 < value < 1:
        raise ValueError("give a probability above .5 and below 1")
    return value


def _weights(value: object) -> object:
    """SYMPTOM=WEIGHT for each item of a mapping."""
    return tuple(f"{key}={weight}" for key, weight in value.items()) if isinstance(value, Mapping) else value


class AuditOptions(Options):
    """The options of an audit; docs/how-to/audit.md says more of each."""

    model: Model
    world: World = Path("clevr")
    budget: Annotated[
        float | None,
        Option(
            "CPU hours to plan for; sets --scenes, --held-out and --tested.", metavar="HOURS", example=2.5
        ),
    ] = None
    scenes: Annotated[
        int, Option("Scenes that rules are made from.", low=1, high=MAX_SCENES, example=500)
    ] = 1000
    held_out: Annotated[
        int, Option("Further scenes, on which the rules are tested.", low=1, high=MAX_SCENES, example=500)
    ] = 1000
    rare: Annotated[
        int | None,
        Option(
            "Further scenes with rare combinations, to make rules from, and at most as many changed copies of those "
            "that failed; a quarter of --scenes if not given.",
            metavar="N",
            low=0,
            high=MAX_RARE,
            example=500,
        ),
    ] = None
    questions: Annotated[int, Option("Questions about each scene.", low=1, high=500, example=20)] = 50
    preset: Annotated[str, Option("The preset of all scenes above.", example="sketch")] = "fast"
    confirm_preset: Annotated[
        str, Option("The preset at which failures are rendered again.", metavar="PRESET", example="sharp")
    ] = "reference"
    sure: Annotated[
        float,
        AfterValidator(_sure),
        Option("A mistake counts as confident from this probability on.", example=0.8),
    ] = 0.9
    tested: Annotated[
        int, Option("Most failures of a family to render again.", low=1, high=1000, example=40)
    ] = 20
    explain: Annotated[
        bool,
        Option(
            "Render 3 failures of each family again without the misread object, under other noise and from another "
            "viewpoint, and with up to 8 single changes.",
            ("--explain/--no-explain",),
        ),
    ] = True
    probed: Annotated[
        int,
        Option(
            "New scenes made from each family's failures, in each of four ways.",
            low=0,
            high=MAX_PROBED,
            example=16,
        ),
    ] = 8
    wordings: Annotated[
        int,
        Option(
            "Ways to put the question of each confirmed failure, its own included; 1 tries no other.",
            metavar="K",
            low=1,
            high=MAX_WORDINGS,
            example=5,
        ),
    ] = 3
    fresh: Annotated[
        int,
        Option(
            "Further scenes, to measure how many of the model's confident mistakes the families hold.",
            metavar="N",
            low=0,
            high=MAX_SCENES,
            example=1000,
        ),
    ] = 0
    searched: Annotated[
        int,
        Option(
            "Search for the first N kinds of mistakes that no scene shows: some 40 CPU minutes each.",
            metavar="N",
            low=0,
            high=100,
            example=3,
        ),
    ] = 0
    seed: Annotated[int, Option("Seed of the questions.", low=0, high=(1 << 63) - 1, example=1)] = 0
    bank_seed: Annotated[
        int,
        Option(
            "Seed of the scenes, which are those of a bank; another one repeats the audit on other scenes.",
            low=0,
            high=(1 << 63) - 1,
            example=1,
        ),
    ] = 0
    families: Annotated[
        tuple[str, ...],
        Option(
            "Ask only questions of this kind or family, e.g. compare_integer or zero_hop/count. Repeatable.",
            metavar="KIND",
        ),
    ] = ()
    weigh: Annotated[
        tuple[str, ...],
        BeforeValidator(_weights),
        Option("How harmful a symptom is, e.g. missed=3. Repeatable.", metavar="SYMPTOM=WEIGHT"),
    ] = ()
    endpoint: Endpoint = None
    max_requests: MaxRequests = None
    trust_remote_code: TrustRemoteCode = False
    device: Device = "auto"
    processes: Processes = None
    bank: Annotated[Path | None, Option("The folder of the banks.", example="banks")] = None
    out: Annotated[
        Path | None,
        Option("The folder to write to; runs/audit-MODEL if not given.", example="runs/audit-mine"),
    ] = None
    junit: Annotated[
        Path | None,
        Option("Write JUnit XML: each confirmed family is a failure.", metavar="FILE", example="audit.xml"),
    ] = None
    beside: Annotated[
        Path | None,
        Option(
            "A finished audit of another model, to compare with this one.",
            metavar="AUDIT",
            example="runs/audit-relation-network",
        ),
    ] = None
