"""Several runs as one table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from trex.commands.results.run import Run, open_run
from trex.foundation.errors import InputError
from trex.foundation.extensions import import_extra

if TYPE_CHECKING:
    import pandas

OF_RUN = ("run", "model", "question", "target")


def frame(runs: Run | str | PathLike[str] | Sequence[Run | str | PathLike[str]]) -> pandas.DataFrame:
    """The draws of runs as one pandas table: `run.draws_frame()` of each, below each other, after columns OF_RUN.

    Parameters
    ----------
    runs : Run, path, or sequence of them
        The runs; a path is that of a run folder. A model's probability of an answer that it does not have is NaN.

    Examples
    --------
    Share of random scenes that are hits, by model::

        frame = trex.frame([first, second])
        frame[frame.phase == "prior"].groupby("model").is_hit.mean()
    """
    library = import_extra("pandas", "arviz", "a table of the draws needs pandas")
    given = list(runs) if isinstance(runs, Iterable) and not isinstance(runs, str) else [runs]
    if not given:
        raise InputError("no run is given; give a run or several")
    tables = []
    for run in (each if isinstance(each, Run) else open_run(each) for each in given):
        table = run.draws_frame()
        about = (run.path.name, run.model_shown, run.manifest.facts.question, run.query.target.kind)
        for place, value in enumerate(about):
            table.insert(place, OF_RUN[place], value)
        tables.append(table)
    joined: pandas.DataFrame = library.concat(tables, ignore_index=True)
    return joined
