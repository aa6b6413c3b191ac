"""The list of a publication's tables and figures (`paper.toml`), and what each is compared with."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ValidationError, model_validator

from reproduce import HERE
from trex.foundation.errors import InputError
from trex.foundation.fields import first_problem
from trex.foundation.parse import parse_toml
from trex.query.schema import Section, Texts
from trex.query.toml_file import read_text

PAPER = HERE / "paper.toml"
Verdict = Literal["agrees", "differs", "incomplete", "not comparable", "absent"]


class Item(Section):
    """A table or figure, or a part of one.

    With an `experiment`, the row is made of its record in the folder `output` (the experiment's name if not given),
    which the options `set` produced: "means" compares the cells' means, "found" the number of cells found, "accuracy"
    the model's with `published_value`; "shown" and "mistakes" (of a test set) compare nothing. Without one, `here`,
    `verdict` and `why` say by hand what was measured elsewhere, which `page` documents. `details` also lists each cell
    of the record below the table: its rate, ending, families and cost.
    """

    item: str  # "Table 8"
    what: str
    published: str = ""
    experiment: str = ""
    output: str = ""
    set: Texts = ()
    compare: Literal["means", "found", "shown", "accuracy", "mistakes"] = "means"
    published_value: float | None = None  # of an accuracy
    cells: Texts = ()  # only these
    details: bool = False
    here: str = ""
    verdict: Verdict | None = None
    why: str = ""
    command: str = ""
    page: str = ""  # a document, relative to `docs`

    @model_validator(mode="after")
    def _is_either(self) -> Item:
        if bool(self.experiment) == bool(self.verdict):
            raise ValueError("give an experiment, or a verdict with what was measured elsewhere")
        if (self.compare == "accuracy") != (self.published_value is not None):
            raise ValueError("give published_value with compare = accuracy, and only with it")
        if self.details and not self.experiment:
            raise ValueError("details are those of an experiment's cells")
        if self.verdict and not self.why and self.verdict != "agrees":
            raise ValueError(f"say why: {self.verdict}")
        if not self.experiment and not (self.command and self.page):
            raise ValueError("give the command and the page that a verdict by hand rests on")
        return self

    @property
    def folder(self) -> str:
        """The name of the folder that holds the experiment's record."""
        return self.output or self.experiment


class Paper(Section):
    """The publications and their items, in the order of the page."""

    title: str
    items: tuple[Item, ...]


def read_paper(path: Path = PAPER) -> Paper:
    """The list in a TOML file; InputError names an invalid key."""
    try:
        return Paper.model_validate(parse_toml(read_text(path), str(path)))
    except ValidationError as error:
        key, message = first_problem(error)
        raise InputError(f"{path}: {key}: {message}") from error
