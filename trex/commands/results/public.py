"""The functions of `import trex`: `find`, `check` and `open_run`."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from trex.clevr_models.adapters.live import session_model_available
from trex.commands.results.run import Run
from trex.commands.results.searching import search
from trex.finding.arguments import find_request
from trex.finding.check import QueryCheck, check_plan
from trex.finding.find import find_query
from trex.finding.keywords import with_keywords
from trex.foundation.errors import InputError


@with_keywords
def find(
    query: str | PathLike[str] | None = None,
    *,
    out: str | PathLike[str] | None = None,
    progress: bool = True,
    large: bool = False,
    trust: bool = False,
    **keywords: object,
) -> Run:
    """Search for the pictures that a query describes; return the run, a folder with every draw and a report.

    `query` is a TOML file whose keys the keywords replace; without it, the keywords are the query. Each keyword is
    the key of the same name in docs/QUERIES.md (`target` is `target.kind`, `generator` and `model` are their
    `name`), and `set={"search.seed": 3}` sets any key by its dotted name.

    `model` is a name, or an object of this session: a `torch.nn.Module` from pictures (B, 3, H, W), float32 in [0,
    1], to logits (B, 28) in the order of `trex.clevr_models.interface.answers.ANSWERS`, or (B, K) with an attribute
    `labels` (K names); or a callable (pictures, question) -> probabilities (B, K) from pictures (B, H, W, 3). In a
    world of digits it is a module from (B, 1, 28, 28), of signs (B, 3, 32, 32), to logits (B, K).

    `out` is the run folder, by default a new one below runs/. If it holds a run of the same query, that run is
    resumed. `progress=False` displays nothing; `large` renders the 8 most confident hits again, large, for the
    report (5 seconds of CPU time each). `trust` allows the code and the addresses that the file names, now and later.

    Raises InputError (the query, before anything is rendered), ModelError and RenderError (during the search),
    RunError (the run folder), and Stopped, a KeyboardInterrupt, on Ctrl-C: every draw is then kept.
    """
    request = find_request(query, keywords, out)
    if trust:
        request.source.trust()
    done = search(
        lambda *watched: find_query(request.source, request.run_dir, *watched),
        request.model,
        progress=progress,
        large=large,
    )
    return Run(done.folder, request.model, done.manifest.world)


@with_keywords
def check(query: str | PathLike[str] | None = None, *, trust: bool = False, **keywords: object) -> QueryCheck:
    """What a search would do; renders nothing, but opens the model.

    Takes the query and `trust` as `find` does; InputError as there.
    """
    for name in ("out", "progress", "large"):
        if name in keywords:
            raise InputError(
                f"{name} belongs to trex.find; trex.check writes nothing and shows no progress: drop it"
            )
    request = find_request(query, keywords, None)
    if trust:
        request.source.trust()
    with session_model_available(request.model):
        return check_plan(request.source.plan())


def open_run(path: str | PathLike[str]) -> Run:
    """The run in a folder, wherever it was made, finished or not; opens no model. RunError if there is none."""
    run = Run(Path(fspath(path)))
    run.check_readable()
    return run
