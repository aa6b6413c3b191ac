"""The verbs on one query and its runs: find, resume, check and report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trex.commands.shell.result import Printed, note
from trex.commands.verb import Session, Verb
from trex.finding.options import (
    CheckOptions,
    FindOptions,
    ReportOptions,
    ResultOptions,
    ResumeOptions,
    SearchOptions,
)
from trex.finding.source import default_out, named_objects, query_keywords, query_source
from trex.foundation.errors import InputError, unknown
from trex.foundation.words import quoted
from trex.query.shipped import is_question

if TYPE_CHECKING:
    from trex.finding.check import QueryCheck
    from trex.finding.conclude import Outcome
    from trex.finding.examine import After
    from trex.finding.find import OnBegin
    from trex.search.judging.fail_if import FailIf
    from trex.search.progress import Watcher
    from trex.tracking.tracker import Tracker

FORMATS = ("html", "netcdf")
NETCDF = "draws.nc"
COMPARISON = "comparison.html"


def find(options: FindOptions, session: Session) -> Outcome:
    """Search for the pictures that a query describes. Ctrl-C keeps all draws; `trex resume` continues."""
    from trex.finding.find import find_query

    run_dir = options.out or default_out(options.query)
    source = query_source(options.query, options.changes, run_dir)
    if options.trust:
        source.trust()
    return _search(partial(find_query, source, run_dir), options, session)


def resume(options: ResumeOptions, session: Session) -> Outcome:
    """Resume a run that was stopped or killed; its draws are the same as without the interruption."""
    from trex.commands.shell.trust import trust_runs
    from trex.finding import find
    from trex.runs.draw_log import repair
    from trex.runs.folder import open_run

    if options.trust:
        trust_runs([options.run])
    session.folder = options.run
    if options.repair:
        with open_run(options.run, for_writing=True) as folder:
            repaired = repair(folder.draws, folder.manifest)
        if repaired is None:
            session.display.say("no draw is damaged; nothing to repair")
        else:
            session.display.say(f"kept {repaired[1]} sound draws; the damaged file is now {repaired[0]}")
    return _search(partial(find.resume, options.run), options, session)


def check(options: CheckOptions, session: Session) -> QueryCheck | Printed:
    """Check a query and report what it would do, or show how a question is read; renders nothing.

    The model is loaded or, behind an address, asked about two small pictures. Writes nothing but what --trust allows.

    trex check "Are there more cubes than spheres?" prints the question's family, its answers and its program.
    """
    if options.query is not None and is_question(str(options.query)):
        from trex.commands.shell.question import read_question

        names = [name for name in CheckOptions.model_fields if name != "query"]
        options.refuse(names, "a question alone is read, without a query or a model")
        return read_question(str(options.query))
    from trex.finding.check import check_plan

    source = query_source(options.query, options.changes, default_out(options.query))
    if options.trust:
        source.trust()
    return check_plan(source.plan(), "" if source.label else str(source.path))


def report(options: ReportOptions, session: Session) -> Reported:
    """Write the report of a run, finished or not; or compare several runs.

    With --confirm, first render the hits of each run again at a preset, score them, and report how many stay hits.
    At preset clevr a scene takes about two minutes on one core. Each is saved as soon as it is done, and the runs take
    turns: after Ctrl-C or a kill the same command resumes, and with a smaller --top it reports what exists.
    """
    from trex.export.netcdf import holds_draws
    from trex.foundation.files import HTML, check_file_out

    if options.confirm is not None:
        return _confirm(options, options.confirm, session)
    options.refuse(["top", "device", "trust"], "nothing is rendered; add --confirm PRESET, or drop it")
    is_page = options.format == "html"
    if options.format not in FORMATS:
        raise unknown("format", options.format, FORMATS)
    if not is_page:
        options.refuse(["baseline"], "only the page of a run shows it; drop it or --format netcdf")
    if options.out is not None:
        check_file_out(options.out, options.written("out", ""), HTML if is_page else holds_draws)
    if not is_page or len(options.runs) > 1:
        options.refuse(["fail_if", "log"], "it is about the page of one run; give one, without --format")
    judge = _judge(options)
    if len(options.runs) == 1:
        return _report_one(options.runs[0], options, judge)
    if not is_page or options.baseline is not None:
        raise InputError("--format and --baseline apply to one run; drop them, or give only one run")
    return _compare(options.runs, options.out or Path(COMPARISON), session)


@dataclass(frozen=True)
class Reported(Printed):
    """A written report, and its run if there is one alone."""

    outcome: Outcome | None = None


def _confirm(options: ReportOptions, preset: str, session: Session) -> Reported:
    from trex.commands.results.confirmed import confirmed_runs
    from trex.commands.shell.trust import trust_runs
    from trex.trials.options import ConfirmOptions

    others = ["format", "out", "baseline", "fail_if", "junit", "log"]
    options.refuse(
        others, f"{options.written('confirm')} writes the report of each run alone; report again with it"
    )
    if options.trust:
        trust_runs(options.runs)
    given = ConfirmOptions(preset=preset, top=options.top, device=options.device)
    done = confirmed_runs(options.runs, given, session.display.show)
    return Reported(done.data, done.text)


def _compare(runs: Sequence[Path], path: Path, session: Session) -> Reported:
    from trex.commands.compare import CompareOptions, compare

    done = compare(CompareOptions(runs=tuple(runs), out=path), session)
    return Reported(done.document(), str(done))


def _report_one(run: Path, options: ReportOptions, judge: Judge) -> Reported:
    from trex.finding.conclude import conclude_run
    from trex.finding.find import edited_note
    from trex.foundation.files import write_atomic
    from trex.runs.draw_log import run_draws
    from trex.runs.folder import FINISHED, open_run
    from trex.trials.baseline.beside import store_baseline

    with open_run(run, for_writing=options.baseline is not None) as folder:
        records = run_draws(folder)
        if edited := edited_note(folder):
            note(f"note: {edited}")
        if options.baseline is not None:
            store_baseline(folder, options.baseline)
        if options.format == "netcdf":
            from trex.export.netcdf import write_netcdf

            path = options.out or run / NETCDF
            write_netcdf(folder.manifest, records, path)
            return Reported({"run": str(run), "netcdf": str(path)}, f"netcdf: {path}")
        done = conclude_run(folder, records, out=options.out)
        if not folder.is_finished and (run / FINISHED).exists():  # this page has replaced that of all draws
            return _report_one(run, options, judge)
        if options.out is not None and options.out != done.report:
            write_atomic(options.out, done.report.read_bytes())
        done = judge(done, is_finished=folder.is_finished)
    path = options.out or done.report
    document = {"run": str(run), "report": str(path), **done.verdicts_json()}
    lines = [*done.first.lines, *(each.words for each in done.verdicts), f"report: {path}"]
    return Reported(document, "\n".join(lines), outcome=done)


def _search(
    work: Callable[[Watcher, OnBegin, After], Outcome], options: SearchOptions, session: Session
) -> Outcome:
    """The outcome of `work`, explained, with the pictures that its page lacks, and judged."""
    from trex.finding.examine import After
    from trex.foundation.files import DiskFullError
    from trex.search.progress import SearchProgress

    judge, display = _judge(options), session.display
    hints = {name: f"{options.written(name, False)} skips this" for name in ("explain", "large")}
    after = After(display.show, display.say, options.explain, options.large, hints)
    try:
        done = work(SearchProgress(display), session.begin, after)
    except DiskFullError as error:
        if session.folder is None:
            raise
        raise DiskFullError(f"{error}; it is resumed by: trex resume {quoted(session.folder)}") from error
    return judge(done)


Judge = Callable[..., "Outcome"]


def _judge(options: ResultOptions) -> Judge:
    """What adds the verdicts to an outcome, and writes them; InputError for an option that cannot be followed."""
    from trex.foundation.junit import Case, CaseStatus, check_junit, write_junit
    from trex.search.judging.fail_if import Decision, parse_fail_if, rule

    _trackers(options)
    conditions: tuple[FailIf, ...] = tuple(map(parse_fail_if, dict.fromkeys(options.fail_if)))
    if options.junit is not None:
        if not conditions:
            options.refuse(["junit"], "it holds verdicts; add --fail-if found")
        check_junit(options.junit)
    status = {
        Decision.PASS: CaseStatus.PASSED,
        Decision.FAIL: CaseStatus.FAILED,
        Decision.UNDECIDED: CaseStatus.UNDECIDED,
    }

    def judge(done: Outcome, *, is_finished: bool = True) -> Outcome:
        verdicts = tuple(rule(each, done.results, is_finished=is_finished) for each in conditions)
        if options.junit is not None:
            cases = [
                Case(each.condition.text, done.folder.name, status[each.decision], each.reason)
                for each in verdicts
            ]
            write_junit(options.junit, "trex find", cases)
        return replace(done, verdicts=verdicts)

    return judge


def _trackers(options: ResultOptions) -> Sequence[Tracker]:
    """The trackers to log with; InputError for an unknown one, or one whose package is missing."""
    if not options.log:
        return ()
    from trex.tracking.tracker import tracker_named

    found = [tracker_named(name) for name in dict.fromkeys(options.log)]
    for tracker in found:
        tracker.check()
    return found


def _after(options: ResultOptions, done: Outcome | None) -> int:
    """Log a run; the exit code of its verdicts."""
    if done is None:
        return 0
    for tracker in _trackers(options):
        from trex.tracking.log_run import log_run, run_log

        identifier = log_run(done.folder, run_log(done.folder, done.manifest, done.results), tracker)
        note(f"logged with {tracker.name} as {identifier}")
    from trex.search.judging.fail_if import overall

    return overall(done.verdicts).value


def _last_words(folder: Path) -> Sequence[str]:
    """How to resume the run in this folder."""
    from trex.runs.folder import FINISHED, REPORT

    if (folder / FINISHED).exists() and (folder / REPORT).exists():
        return [
            f"stopped; the search is complete, its report is {folder / REPORT}. To render the missing pictures: "
            f"trex resume {quoted(folder)}"
        ]
    return [
        f"stopped; every draw is kept. Resume: trex resume {quoted(folder)}",
        f"Report so far: trex report {quoted(folder)}",
    ]


DETAILS = """The result is a `Run`: a folder with every draw and a report. Each further keyword is the key of the same
name in docs/reference/queries.md (`target` is `target.kind`, `generator` and `model` are their `name`), and replaces
it in the file; without a file, the keywords are the query. `set={"search.seed": 3}` sets any key by its dotted name.

`model` is a name, or an object of this session: a `torch.nn.Module` from pictures (B, 3, H, W), float32 in [0, 1], to
logits (B, 28) in the order of `trex.clevr_models.interface.answers.ANSWERS`, or (B, K) with an attribute `labels` (K
names); or a callable (pictures, question) -> probabilities (B, K) from pictures (B, H, W, 3). In a world of digits it
is a module from (B, 1, 28, 28), of signs (B, 3, 32, 32), to logits (B, K).

If `out` holds a run of the same query, that run is resumed. `trust` allows the code and the addresses that the file
names, now and later.

Raises InputError (the query, before anything is rendered), ModelError and RenderError (during the search), RunError
(the run folder), and Stopped, a KeyboardInterrupt, on Ctrl-C: every draw is then kept."""

FIND = Verb(
    FindOptions,
    find,
    last_words=_last_words,
    after=_after,
    keys=query_keywords,
    named=named_objects,
    details=DETAILS,
)
RESUME = Verb(ResumeOptions, resume, last_words=_last_words, after=_after)
CHECK = Verb(
    CheckOptions,
    check,
    keys=query_keywords,
    named=named_objects,
    details="The query is given as to `trex.find`; InputError as there.",
)
REPORT = Verb(
    ReportOptions,
    report,
    "every scene that was rendered is kept",
    after=lambda options, done: _after(options, done.outcome),
)
VERBS = {"find": FIND, "resume": RESUME, "check": CHECK, "report": REPORT}
