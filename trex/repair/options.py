"""The options of a repair's steps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BeforeValidator, model_validator

from trex.foundation.errors import InputError
from trex.foundation.options import Option, Options
from trex.query.verb_options import Processes, Settings, TrustQuery, as_settings

Data = Annotated[
    Path | None,
    Option(
        "The folder of a digit model's data set; by default $TREX_DIGITS. MNIST and Fashion-MNIST are otherwise taken "
        "from the cache or downloaded.",
        example="data/mnist",
    ),
]
Folder = Annotated[
    Path,
    Option("The folder that `trex repair identify` names first.", metavar="FOLDER", is_argument=True),
]


class IdentifyOptions(Options):
    """The query of a repair, and where it is kept."""

    query: Annotated[
        Path,
        Option(
            "A TOML file, or the name of a shipped repair: mnist, or clevr for rendered scenes.",
            metavar="QUERY",
            is_argument=True,
            example="mnist",
        ),
    ]
    out: Annotated[
        Path | None,
        Option("The folder to write to; runs/repair/NAME if not given.", example="runs/repair/mine"),
    ] = None
    data: Data = None
    set: Annotated[
        tuple[str, ...],
        BeforeValidator(as_settings),
        Option("Override a key, e.g. identify.noise=printed. Repeatable.", ("--set",), metavar="KEY=VALUE"),
    ] = ()
    processes: Processes = None


class StepOptions(Options):
    """The folder of a repair, and what its steps need besides."""

    folder: Folder
    data: Data = None
    processes: Processes = None


class VoteOptions(Options):
    """Whose votes label the components."""

    voters: Annotated[
        str | None,
        Option(
            "committee: five networks that are trained here vote; people: the votes given on the served page.",
            example="committee",
        ),
    ] = None
    votes: Annotated[
        tuple[Path, ...],
        Option(
            "Votes of people: a CSV file with the columns picture, annotator, label. Repeatable.",
            example="votes.csv",
        ),
    ] = ()
    without: Annotated[
        tuple[str, ...], Option("Leave out this annotator. Repeatable.", metavar="NAME", example="Kim")
    ] = ()

    @model_validator(mode="after")
    def _are_of_one_kind(self) -> Self:
        from trex.repair.votes_file import PEOPLE, check_voters

        voters = self.written("voters")
        if self.voters is not None:
            self.refuse(["votes"], f"{voters} says whose votes are taken; drop one of the two")
            check_voters(self.voters)
        if not self.votes and self.voters != PEOPLE:
            given = f"of a file ({self.written('votes')}) or of the page ({voters} {PEOPLE})"
            self.refuse(["without"], f"only annotators {given} can be left out")
        return self


class LabelStepOptions(VoteOptions, StepOptions):
    """The votes on a repair's components."""


class ProofOptions(Options):
    """On what a correction on rendered scenes is measured beyond its own tests."""

    dataset: Annotated[
        Path | None,
        Option(
            "Official pictures with scenes or questions: a folder in CLEVR's layout.", example="CLEVR_v1.0"
        ),
    ] = None
    queries: Annotated[
        tuple[Path, ...],
        Option(
            "Search with this query again, before and after the correction. Repeatable.",
            ("--query",),
            example="demo",
        ),
    ] = ()
    set: Settings = ()
    seeds: Annotated[
        tuple[int, ...],
        Option(
            "Search with the corrected model of this seed, instead of all. Repeatable.",
            ("--seed",),
            example=(0, 1),
        ),
    ] = ()

    @model_validator(mode="after")
    def _measures(self) -> Self:
        if not self.queries:
            self.refuse(["set", "seeds"], f"only a search ({self.written('queries')}) has it")
            if self.dataset is None:
                both = f"{self.written('queries')}, {self.written('dataset')} or both"
                raise InputError(f"nothing is measured without a query or official pictures; give {both}")
        return self


class ProveOptions(ProofOptions):
    """A finished correction, and on what it is measured."""

    folder: Folder
    trust: TrustQuery = False

    @model_validator(mode="after")
    def _trusts_a_query(self) -> Self:
        if not self.queries:
            self.refuse(["trust"], f"only a search ({self.written('queries')}) has it")
        return self


class FolderOptions(Options):
    """The folder of a repair."""

    folder: Folder
