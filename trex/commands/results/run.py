"""A run folder in the Python API, and the verbs that give one."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trex.clevr_models.adapters.live import SessionModel, session_model_available
from trex.commands import query as verbs
from trex.commands.export import VERB as EXPORT
from trex.commands.verb import Session, with_options
from trex.curves.options import CurveOptions
from trex.explain.options import ExplainOptions
from trex.explain.run_families import explained_results
from trex.explain.stored import read_explanations
from trex.explain.traces import read_traces
from trex.families.family import Family
from trex.finding.conclude import Outcome, renew_report
from trex.finding.source import model_argument, named_objects
from trex.foundation.errors import RunError, TrexError
from trex.foundation.extensions import LIVE, give
from trex.foundation.files import from_here, path_of
from trex.foundation.words import counted
from trex.inference.statistics.proportion import Proportion
from trex.pages.display import display_if, shown_in_notebook
from trex.pages.notebook_html import block_html
from trex.query.schema import Query
from trex.report.first_screen import first_screen
from trex.runs import folder as run_folder
from trex.runs.draw_log import check_begun, read_draws
from trex.runs.manifest import Manifest
from trex.runs.record import Record
from trex.scenes.graph import Facts, facts_of
from trex.scenes.prior import ScenePrior
from trex.search.hit import Hit
from trex.search.judging.fail_if import Ruling
from trex.search.results import Results
from trex.trials.holds import Holds, holds_of
from trex.trials.options import ConfirmOptions
from trex.worlds.latents import Latent
from trex.worlds.registry import WorldEntry, model_shown, world_named
from trex.worlds.world import World

if TYPE_CHECKING:
    import arviz
    import pandas

    from trex.curves.curve import Curve
    from trex.explain.changes import ChangedHit
    from trex.explain.explanation import Explanation
    from trex.export.export import ExportOutcome
    from trex.trials.confirmation import Confirmation

SHOWN = 8  # hits in a notebook
CLEVR_WORLD = "clevr"  # whose prior draws fresh scenes


@dataclass(frozen=True, repr=False)
class Run:
    """A run folder. Its draws are read once, at their first use; `trex.open_run(run.path)` reads them again.

    `model` is the model object if the run was made with one; None if the model has a name. `world` reads the draws,
    if it is the user's own and has been loaded to search; a pickled run has neither. `verdicts` are those on the
    conditions `fail_if` of a search.
    """

    path: Path
    model: SessionModel | None = field(default=None, repr=False)
    world: World[Latent] | None = field(default=None, repr=False)
    verdicts: tuple[Ruling, ...] = ()

    @cached_property
    def manifest(self) -> Manifest:
        """What the draws depend on: query, model, renderer, versions (`run.json`)."""
        with run_folder.open_run(self.path, for_writing=False, world=self.world) as folder:
            return folder.manifest

    def check_readable(self) -> None:
        """Raise RunError if there is no run in this folder, or it is of another version."""
        run_folder.open_run(self.path, for_writing=False).close()

    @property
    def query(self) -> Query:
        """The query with every default filled in."""
        return self.manifest.query

    @property
    def is_finished(self) -> bool:
        """Whether the search has ended; `resume()` continues one that has not."""
        with run_folder.open_run(self.path, for_writing=False) as folder:
            return folder.is_finished

    @property
    def ending(self) -> str:
        """ "CONVERGED", "FOUND" or "NOT FOUND", for the draws so far; docs/concepts/statistics.md defines them."""
        return self.results.ending

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The distinct hits, most confident first."""
        return tuple(replace(hit, run=self.path) for hit in self.results.found)

    @property
    def holds(self) -> Holds:
        """How far the finding holds: shares under new noise, at reference quality and from other viewpoints."""
        with run_folder.open_run(self.path, for_writing=False, world=self.world) as folder:
            return holds_of(folder, self.results)

    @property
    def families(self) -> tuple[Family, ...]:
        """What the model does wrong in the hits, and when; `families[0].sample(20)` draws fresh scenes like them.

        In a world of your own whose values have names, they say for which values the model fails.
        """
        from trex.worlds.shipped.clevr_plan import make_prior

        known, manifest = self.results.families.known, self.manifest
        if manifest.query.generator.name != CLEVR_WORLD:
            return known
        prior = make_prior(manifest.query, manifest.vocabulary, manifest.question)

        return tuple(replace(family, prior=partial(_drawn, prior)) for family in known)

    @property
    def rate(self) -> Proportion:
        """The rate without a search: hits among prior draws, with `value` and `interval` (95%)."""
        return self.results.how_often.rate

    @property
    def draws(self) -> arviz.InferenceData:
        """Groups prior, and posterior and sample_stats if chains were run; log_probs (chain, draw, answer).

        Needs the extra `arviz`; ArviZ 1 gives a DataTree.
        """
        from trex.export.netcdf import inference_data

        return inference_data(self.manifest, self._checked_records())

    def draws_frame(self) -> pandas.DataFrame:
        """A pandas row for each prior draw and each proposal (extra `arviz`), see `trex.export.frame`."""
        from trex.export.frame import draws_frame

        return draws_frame(self.manifest, self.records)

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """Every line of `draws.jsonl`, in its order; RunError if one is damaged.

        Besides prior draws and proposals these are, each in a phase of its own, a bank's scenes at its cheap preset,
        its likeliest ones before the sample, calibration draws, and hits under fresh noise draws: see
        `trex.runs.record.Record`.
        """
        return tuple(read_draws(self.path / "draws.jsonl", self.manifest))

    @cached_property
    def results(self) -> Results:
        """Everything that the report says about the draws; RunError if there is no prior draw yet."""
        records = self._checked_records()
        with run_folder.open_run(self.path, for_writing=False, world=self.world) as folder:
            return explained_results(folder, records)

    def report(self) -> Path:
        """The path of `report.html`, rewritten with all explanations and confirmations; RunError without any draw."""
        return renew_report(self.path, self.world).report

    def summary(self) -> str:
        """What `trex find` prints at its end: the finding, the hits, the ending, the rate, the families."""
        return str(renew_report(self.path, self.world))

    def show(self) -> None:
        """Show the run in a notebook, or its page in the browser."""
        if shown_in_notebook(self):
            return
        webbrowser.open(self.report().resolve().as_uri())

    def export(
        self,
        format: str = "clevr",
        *,
        out: str | PathLike[str] | None = None,
        edits: bool | None = None,
        progress: bool = True,
    ) -> Path:
        """Write the hits as a data set for other tools, and give its folder.

        Parameters
        ----------
        format : str, default "clevr"
            clevr, parquet, hf, coco, fiftyone, or an installed one. Example: format="coco".
        out : path, default RUN/export-FORMAT
            A new or empty folder. Example: out="hits-coco".
        edits : bool, default None
            Include the edited scenes of `explain`; None if there are some. Example: edits=False.
        progress : bool, default True
            Show the progress.
        """
        done: ExportOutcome = EXPORT.function()(self, format=format, out=out, edits=edits, progress=progress)
        return done.out

    def resume(
        self, model: object = None, *, progress: bool = True, explain: bool = True, large: bool = True
    ) -> Run:
        """Continue the search to its end; a finished run is returned unchanged, with its report written again.

        Raises RunError if model, renderer or shapes have changed since the draws were made, Stopped on Ctrl-C.

        Parameters
        ----------
        model : object, default None
            The model of the run, in a session that does not know the object. Example: model=my_model.
        progress : bool, default True
            Show the progress.
        explain : bool, default True
            Explain the found scenes: about 20 pictures per scene.
        large : bool, default True
            Render the 8 most confident scenes again, large, for the page.
        """
        self._give_world()
        options = RESUME.options.checked({"run": self.path, "explain": explain, "large": large})
        resumed: Run = RESUME.call(options, self._live_model(model), is_shown=progress)
        return resumed

    @with_options(ExplainOptions)
    def explain(
        self, *, model: object = None, progress: bool = True, large: bool = False, processes: int | None = None,
        **parts: object,
    ) -> tuple[Explanation, ...] | tuple[ChangedHit, ...]:  # fmt: skip
        """Find the object responsible for each of the most confident hits, in the order of `hits`.

        With the defaults a scene of 5 objects takes about 75 renders; existing parts are not repeated. The report is
        written again. In a world of your own (`trex.World`), its edits take the place of objects, and of the options
        only `top` applies. Raises RunError if there are no hits, or the run has neither scenes nor edits.

        Parameters
        ----------
        model : object, default None
            The model of the run, in a session that does not know the object. Example: model=my_model.
        progress : bool, default True
            Show the progress.
        large : bool, default False
            Render the scenes again, large, for the page.
        processes : int, default one per core, up to 4
            Blender processes. Example: processes=2.
        """
        from trex.commands.results.explaining import explain_with_report

        options = ExplainOptions.checked(parts)
        self._give_world()
        with session_model_available(self._live_model(model)), display_if(progress) as display:
            done, _ = explain_with_report(self.path, options, display, processes, large=large)
        vars(self).pop("results", None)  # its families say more now
        return done if isinstance(done, tuple) else done.explanations

    @with_options(CurveOptions)
    def curve(
        self, *, model: object = None, progress: bool = True, processes: int | None = None, **options: object
    ) -> Curve:
        """Turn one quantity of the hits up and down, all else equal: how often is the model wrong at each dose?

        The quantity belongs to the misread object of each hit, which is traced by questions, or responsible by
        `explain`, or of index `object`. The report is written again. In a world of your own (`trex.World`), `over` is
        the name of a number that its prior draws. Raises InputError if no misread object is known, RunError if there
        are no hits.

        Parameters
        ----------
        model : object, default None
            The model of the run, in a session that does not know the object. Example: model=my_model.
        progress : bool, default True
            Show the progress.
        processes : int, default one per core, up to 4
            Blender processes. Example: processes=2.
        """
        from trex.commands.results.curving import curve_with_report

        checked = CurveOptions.checked(options)
        self._give_world()
        with session_model_available(self._live_model(model)), display_if(progress) as display:
            made, _ = curve_with_report(self.path, checked, display, processes)
        return made

    @with_options(ConfirmOptions)
    def confirm(self, *, model: object = None, progress: bool = True, **options: object) -> Confirmation:
        """Render the `top` most confident hits at another preset and score them again; the report is written again.

        At preset "clevr" a scene takes about two minutes on one core. Each is saved as soon as it is done. Raises
        RunError if there are no hits, or if the model has changed.

        Parameters
        ----------
        model : object, default None
            The model of the run, in a session that does not know the object. Example: model=my_model.
        progress : bool, default True
            Show the progress.
        """
        from trex.trials.confirm import confirm

        checked = ConfirmOptions.checked(options)
        self._give_world()
        with session_model_available(self._live_model(model)), display_if(progress) as display:
            ((_, confirmation),) = confirm([self.path], checked, display.show)
        self.report()
        return confirmation

    def __fspath__(self) -> str:
        """The folder: a run may be given where a run folder is."""
        return fspath(self.path)

    def __getstate__(self) -> dict[str, object]:
        """What a pickle keeps: the folder, as `open_run` reads it; objects of a session often cannot be pickled."""
        return {"path": self.path, "verdicts": self.verdicts}

    def __repr__(self) -> str:
        """Folder, question and model on one line; how the search ended, if the draws have been read."""
        try:
            facts, state = self.manifest.facts, "finished" if self.is_finished else "not finished"
        except TrexError:  # the folder has moved or is damaged: every other use says so
            return f"<Run {from_here(self.path)}>"
        if "results" in vars(self):
            state = f"{state}, {self.ending}, {counted(len(self.results.found), 'distinct hit')}"
        return f"<Run {from_here(self.path)}: {facts.question!r}, model {self.model_shown}, {state}>"

    def _repr_html_(self) -> str:
        """Headline, rate and the first hits, for notebooks."""
        facts = self.manifest.facts
        state = "" if self.is_finished else " (not finished)"
        try:
            results = self.results
        except RunError as error:
            return block_html(f"{facts.question}{state}", [str(error)], [], str(from_here(self.path)))
        with run_folder.open_run(self.path, for_writing=False, world=self.world) as folder:
            traces, explained = read_traces(folder), read_explanations(folder)
        first = first_screen(self.manifest, results, self.path, self.holds, traces, explained)
        sentences = [f"{first.what}{state}", *first.details]
        shown = self.hits[:SHOWN]
        more = f"{len(shown)} of {len(self.hits)} shown; " if len(self.hits) > len(shown) else ""
        cards = [hit._repr_html_() for hit in shown]
        return block_html(
            f"{facts.question} Model: {self.model_shown}",
            sentences,
            cards,
            f"{more}{from_here(self.path)}",
        )

    @property
    def model_shown(self) -> str:
        """The model's name for readers."""
        return model_shown(self.manifest.query, self.manifest.facts.model)

    def _give_world(self) -> None:
        """Let the world's name mean the run's own again: a later world of that name may have taken its place."""
        world = self.world
        if world is not None and world.name.startswith(LIVE):
            give(WorldEntry(world.name, lambda _: world))

    def _checked_records(self) -> Sequence[Record]:
        check_begun(self.path, self.records)
        return self.records

    def _live_model(self, model: object) -> SessionModel | None:
        """The model object of the run; RunError for a name other than the run's own."""
        if model is None:
            return self.model
        name, live_model = model_argument(model)
        if name != self.query.model.name:
            raise RunError(
                f"{self.path} was made with model {self.query.model.name!r}, not {name!r}; give that model, or start "
                "a new run"
            )
        return live_model


def open_run(
    path: str | PathLike[str],
    *,
    model: object = None,
    world: object = None,
    target: object = None,
    proposal: object = None,
) -> Run:
    """The run in a folder, wherever it was made, finished or not; opens no model. RunError if there is none.

    InputError if `path` is no path.

    Parameters
    ----------
    path : str or path
        The run folder. Example: "runs/demo".
    model, world, target, proposal : object, default None
        The objects that the run was made with, in a session that does not know them: a folder stores names and hashes
        of objects, not the objects. Example: model=my_model.
    """
    given = {"generator.name": world, "target.kind": target, "search.kernel": proposal}
    names = named_objects({key: thing for key, thing in given.items() if thing is not None})
    live_model = None if model is None else model_argument(model)[1]
    opened = None if world is None else world_named(str(names["generator.name"]))
    run = Run(path_of(path, 'the folder of a run, such as "runs/demo"'), live_model, opened)
    run.check_readable()
    return run


def _drawn(prior: ScenePrior, rng: np.random.Generator) -> Facts:
    return facts_of(prior.sample(rng), prior.vocabulary)


def _as_run(done: Outcome, session: Session) -> Run:
    run = Run(done.folder.absolute(), session.model, done.manifest.world, done.verdicts)
    vars(run)["results"] = done.results  # they are known already
    return run


FIND = replace(verbs.FIND, result=_as_run)
RESUME = replace(verbs.RESUME, result=_as_run)
