"""An experiment file: variations of one query, each with its published value."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from reproduce import HERE
from trex.foundation.errors import InputError, unknown
from trex.foundation.fields import first_problem
from trex.foundation.parse import parse_toml
from trex.query.schema import Section, Texts
from trex.query.shipped import SUFFIX, names
from trex.query.toml_file import read_text

# What an experiment file, which may come from elsewhere, can train; no option names a file, a folder or code.
TRAININGS = ("vae", "gan", "beta-vae", "classifier", "adda")
TRAINING_OPTIONS = (
    "--dataset", "--without", "--classes", "--seed", "--epochs", "--batch-size", "--device", "--threads", "--network",
    "--latent", "--beta", "--anneal", "--source", "--target", "--source-steps", "--steps", "--adversary-at",
    "--domain-labels",
)  # fmt: skip
QUERIES = HERE / "queries"


def _numbers(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


def _trainings(commands: Sequence[str]) -> Sequence[str]:
    """The words after `trex models train`, if they name a training and options that stay in the cache."""
    for command in commands:
        name, *options = shlex.split(command) or [""]
        if name not in TRAININGS:
            raise ValueError(f"{command!r:.80} does not begin with a training ({', '.join(TRAININGS)})")
        given = [word.partition("=")[0] for word in options if word.startswith("-")]
        for option in given:
            if option not in TRAINING_OPTIONS:
                allowed = ", ".join(TRAINING_OPTIONS)
                raise ValueError(f"{command!r:.80} has {option!r:.40}; an experiment may only give {allowed}")
    return commands


Trainings = Annotated[Texts, AfterValidator(_trainings)]
Value = str | int | float | bool
Values = Annotated[tuple[float, ...], BeforeValidator(_numbers)]
Settings = dict[str, Value | tuple[Value, ...]]  # dotted keys of the query


class CellSection(Section):
    """One cell: its name, its settings, and the published mean (and deviation) of each answer named.

    `train`: models to train first, as words after `trex models train`.
    """

    name: Annotated[str, Field(pattern=r"^[\w+ -][\w.+ -]{0,59}$")]
    set: Settings = Field(default_factory=dict)
    train: Trainings = ()
    published: Values = ()
    published_sd: Values = ()
    note: str = ""


class Experiment(Section):
    """An experiment; `query` is a path relative to it. `pairs` makes a cell for every two of these answers.

    `harder`: settings of a second search for a cell without hits; several are tried in turn until one finds
    something. `found_published`: the number of cells in which the publication found something. `latents`: cells
    whose latents are plotted in the plane.
    """

    title: str
    source: str
    form: Literal["table", "matrix", "strip"] = "table"
    query: str
    set: Settings = Field(default_factory=dict)
    harder: tuple[Settings, ...] = ()
    train: Trainings = ()
    cells: tuple[CellSection, ...] = ()
    pairs: Texts = ()
    found_published: int | None = None
    latents: Texts = ()


class Cell(NamedTuple):
    """A cell with the `--set` options of its query; the later ways are tried if the earlier find nothing."""

    section: CellSection
    ways: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """The cell's name, which is also its folder's."""
        return self.section.name


def experiment_path(name: str) -> Path:
    """The path of an experiment: one of `queries` by name, any other by its path; InputError if there is none."""
    if name.endswith(SUFFIX):
        return Path(name)
    known = names(QUERIES)
    if name not in known:
        raise unknown("experiment", name, known, "Or name a path that ends in .toml.")
    return QUERIES / f"{name}{SUFFIX}"


def read_experiment(path: Path) -> Experiment:
    """The experiment in a TOML file; InputError names an invalid key."""
    try:
        experiment = Experiment.model_validate(parse_toml(read_text(path), str(path)))
        given = [cell.name for cell in cells(experiment)]
    except ValidationError as error:
        key, message = first_problem(error)
        raise InputError(f"{path}: {key}: {message}") from error
    if not given or len(set(given)) < len(given):
        raise InputError(f"{path}: give cells or pairs, each under a name of its own")
    return experiment


def cells(experiment: Experiment) -> tuple[Cell, ...]:
    """All cells, those of `pairs` after the others."""
    of_pairs = [
        CellSection(name=f"{first}-{second}", set={"answer": (first, second)})
        for first, second in combinations(experiment.pairs, 2)
    ]
    return tuple(Cell(section, _ways(experiment, section)) for section in (*experiment.cells, *of_pairs))


def _ways(experiment: Experiment, cell: CellSection) -> tuple[tuple[str, ...], ...]:
    first = experiment.set | cell.set
    return tuple(_overrides(first | settings) for settings in ({}, *experiment.harder))


def _overrides(settings: Settings) -> tuple[str, ...]:
    """The settings as `key=value`; JSON's strings, numbers, booleans and arrays of them are valid TOML."""
    return tuple(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in settings.items())
