"""The options of `trex suite add` and `trex suite run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import model_validator

from trex.foundation.options import Option, Options
from trex.query.verb_options import DEVICE_WORDS, Endpoint, MaxRequests, Processes, TrustRemoteCode


class SuiteAddOptions(Options):
    """The runs and audits whose failures a suite keeps."""

    runs: Annotated[
        tuple[Path, ...],
        Option(
            "Folders, as `trex find` or `trex audit` makes them.",
            metavar="RUN...",
            complete="runs",
            is_argument=True,
            example="runs/first",
        ),
    ]
    to: Annotated[Path, Option("The suite's folder; made if it is new.", metavar="DIR", example="failures")]
    confirmed: Annotated[
        bool,
        Option("Keep only hits that `trex report --confirm` has shown to be still wrong.", ("--confirmed",)),
    ] = False


class SuiteRunOptions(Options):
    """The suite, the model to ask, the pictures to ask about, and what counts as a failure."""

    suite: Annotated[
        Path,
        Option("A suite, as `trex suite add` makes it.", metavar="DIR", is_argument=True, example="failures"),
    ]
    model: Annotated[str, Option("The model to ask; docs/how-to/own-model.md.", example="relation-network")]
    endpoint: Endpoint = None
    max_requests: MaxRequests = None
    trust_remote_code: TrustRemoteCode = False
    render: Annotated[
        str | None,
        Option(
            "Render every scene again at this preset; pictures are cached.", metavar="PRESET", example="fast"
        ),
    ] = None
    fresh: Annotated[
        int,
        Option(
            "Render each with this many new noise seeds, and judge mean probabilities.",
            low=0,
            high=64,
            example=4,
        ),
    ] = 0
    seed: Annotated[
        int,
        Option("The seed that --fresh derives its noise seeds from.", low=0, high=(1 << 63) - 1, example=1),
    ] = 0
    device: Annotated[str, Option(f"Of --render: {DEVICE_WORDS}.", example="cuda")] = "auto"
    processes: Processes = None
    strict: Annotated[
        bool,
        Option(
            "Exit 3 if any scene fails, not only if one fails newly, or if one of the last run is gone.",
            ("--strict",),
        ),
    ] = False
    record: Annotated[
        bool, Option("Make this the run that the next one is compared with.", ("--record/--no-record",))
    ] = True
    junit: Annotated[
        Path | None, Option("Write JUnit XML, one test case per scene.", metavar="FILE", example="suite.xml")
    ] = None

    @model_validator(mode="after")
    def _renders_what_it_describes(self) -> Self:
        if self.render is None:
            why = "the stored pictures are asked about; add --render PRESET, or drop it"
            self.refuse(["fresh", "seed", "device", "processes"], why)
        if not self.fresh:
            self.refuse(["seed"], "each scene has its own noise seed; add --fresh N, or drop it")
        return self
