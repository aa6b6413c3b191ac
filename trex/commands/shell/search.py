"""The implementations of `trex find`, `check`, `resume` and `report`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.commands.shell.result import print_result, print_text
from trex.commands.shell.verdicts import Gate, exit_by, rulings_json
from trex.finding.check import check_plan
from trex.finding.conclude import Outcome, conclude_run
from trex.finding.find import find, query_file, resume
from trex.finding.page_pictures import NO_LARGE, Pictures, large_progress
from trex.foundation.errors import InputError, unknown
from trex.foundation.files import HTML, DiskFullError, check_file_out, write_atomic
from trex.foundation.words import capitalized
from trex.report.context import goal, model_words
from trex.report.first_screen import stays
from trex.runs.draw_log import repair, run_draws
from trex.runs.folder import FINDINGS, FINISHED, REPORT, open_run
from trex.search.judging.fail_if import Ruling
from trex.search.judging.headline import family_sentences, headline, how_often_words
from trex.search.progress import SearchProgress, Watcher
from trex.search.stopping import say, stoppable
from trex.tracking.log_run import log_run, run_log
from trex.tracking.tracker import Tracker, tracker_named
from trex.trials.baseline.beside import store_baseline

FORMATS = ("html", "netcdf")
NETCDF = "draws.nc"
NETCDF_HEADS = (b"cdf", b"\x89hdf")  # of both formats, in lower case
COMPARISON = "comparison.html"


@dataclass(frozen=True)
class Ending:
    """What follows a search: large pictures for the page, the printed form, verdicts, trackers."""

    as_json: bool
    large: bool
    gate: Gate
    trackers: Sequence[Tracker] = ()


def run_find(query: Path, overrides: Sequence[str], out: Path | None, ending: Ending) -> None:
    """Run a query and print the outcome."""
    place: list[Path] = []

    def on_begin(folder: Path) -> None:
        place.append(folder)
        say(f"writing to {folder}")

    try:
        with stoppable(lambda: _last_words(place)):
            done = _watched(
                lambda progress, pictures: find(query, overrides, out, progress, on_begin, pictures),
                ending.large,
            )
    except DiskFullError as error:
        if not place:
            raise
        raise DiskFullError(f"{error}; it is resumed by: trex resume {place[0]}") from error
    _end(done, ending)


def run_resume(run: Path, ending: Ending, *, is_repaired: bool) -> None:
    """Resume a run and print the outcome."""
    if is_repaired:
        with open_run(run, for_writing=True) as folder:
            repaired = repair(folder.draws, folder.manifest)
        if repaired is None:
            say("no draw is damaged; nothing to repair")
        else:
            say(f"kept {repaired[1]} sound draws; the damaged file is now {repaired[0]}")
    with stoppable(lambda: _last_words([run])):
        done = _watched(
            lambda progress, pictures: resume(
                run, progress, lambda folder: say(f"writing to {folder}"), pictures
            ),
            ending.large,
        )
    _end(done, ending)


def run_check(query: Path, overrides: Sequence[str], as_json: bool) -> None:
    """Check a query and print what it would do."""
    found = check_plan(query_file(query, overrides).plan())
    if as_json:
        document = {
            "query": json.loads(found.query.model_dump_json()),
            "renders_at_most": found.renders_at_most,
            "cheap_at_most": found.cheap_at_most,
            "control_at_most": found.control_at_most,
            "control_cheap_at_most": found.control_cheap_at_most,
            "seconds_at_most_about": found.seconds_at_most,
            "large_at_most": found.large_at_most,
            "large_seconds_at_most_about": found.large_seconds_at_most,
            "warnings": found.notes,
        }
        print_text(json.dumps(document))
        return
    print_text(f"{query} is valid; nothing was rendered\n{found}")


@dataclass(frozen=True)
class ReportRequest:
    """What `trex report` does: the form, the file (None for the usual one), a baseline to show, verdicts, trackers."""

    form: str
    out: Path | None
    baseline: Path | None
    gate: Gate
    trackers: Sequence[Tracker] = ()


def run_report(runs: Sequence[Path], request: ReportRequest, as_json: bool) -> None:
    """Write a report or a comparison, print its path, and exit by the verdicts."""
    form = request.form
    if form not in FORMATS:
        raise unknown("format", form, FORMATS)
    if request.out is not None:
        check_file_out(request.out, "--out", NETCDF_HEADS if form == "netcdf" else HTML)
    if request.gate.conditions and (form != "html" or len(runs) > 1):
        raise InputError(
            "--fail-if does not apply: it judges the page of one run; give one, without --format"
        )
    if request.trackers and (form != "html" or len(runs) > 1):
        raise InputError("--log does not apply: it logs one run with its page; give one, without --format")
    if len(runs) == 1:
        written, rulings = _report_one(runs[0], request)
        key = "report" if form == "html" else form
        document = {"run": str(runs[0]), key: str(written), **rulings_json(rulings)}
        words = "\n".join([*(ruling.words for ruling in rulings), f"{key}: {written}"])
        print_result(document, words, as_json)
        exit_by(rulings)
        return
    if form != "html" or request.baseline is not None:
        raise InputError("--format and --baseline apply to one run; drop them, or give only one run")
    _compare(runs, request.out or Path(COMPARISON), as_json)


def _compare(runs: Sequence[Path], path: Path, as_json: bool) -> None:
    from trex.report.compare import compare, comparison_json
    from trex.report.compare_page import write_comparison

    found = compare(runs)
    write_comparison(found, path)
    document = {"runs": [str(run) for run in runs], "report": str(path), **comparison_json(found)}
    print_result(document, f"report: {path}", as_json)


def _report_one(run: Path, request: ReportRequest) -> tuple[Path, tuple[Ruling, ...]]:
    baseline, out = request.baseline, request.out
    with open_run(run, for_writing=baseline is not None) as folder:
        records = run_draws(folder)
        if baseline is not None:
            store_baseline(folder, baseline)
        if request.form == "netcdf":
            from trex.export.netcdf import write_netcdf

            path = out or run / NETCDF
            write_netcdf(folder.manifest, records, path)
            return path, ()
        done = conclude_run(folder, records)
        if not folder.is_finished and (run / FINISHED).exists():  # this page has replaced that of all draws
            return _report_one(run, request)
        if out is not None:
            write_atomic(out, done.report.read_bytes())
        _log(done, request.trackers)
        return out or done.report, request.gate.rule(run, done.results, is_finished=folder.is_finished)


def _watched(work: Callable[[Watcher, Pictures], Outcome], large: bool) -> Outcome:
    from trex.pages.display import Display

    with Display() as display:
        return work(SearchProgress(display), Pictures(large_progress(display.show, NO_LARGE), say, large))


def _end(done: Outcome, ending: Ending) -> None:
    """Print the outcome, and exit by its verdicts."""
    rulings = ending.gate.rule(done.folder, done.results)
    if ending.as_json:
        data = json.loads((done.folder / FINDINGS).read_text(encoding="utf-8"))
        document = {"run": str(done.folder), "report": str(done.report), **data, **rulings_json(rulings)}
        print_text(json.dumps(document))
    else:
        _show(done, [ruling.words for ruling in rulings])
    _log(done, ending.trackers)
    exit_by(rulings)


def trackers(names: Sequence[str] | None) -> tuple[Tracker, ...]:
    """The trackers of these names; InputError for an unknown one, or one whose package is missing."""
    found = tuple(tracker_named(name) for name in dict.fromkeys(names or []))
    for one in found:
        one.check()
    return found


def _log(done: Outcome, chosen: Sequence[Tracker]) -> None:
    for tracker in chosen:
        identifier = log_run(done.folder, run_log(done.folder, done.manifest, done.results), tracker)
        say(f"logged with {tracker.name} as {identifier}")


def _show(done: Outcome, verdicts: Sequence[str]) -> None:
    """Print the outcome; the last line is the path of the report."""
    manifest = done.manifest
    verb, answers = goal(manifest)
    print_text(
        f"{model_words(manifest)} {verb} {' and '.join(answers)}; world: {manifest.world.scope(manifest.query)}"
    )
    for number, found in enumerate(done.results.found[:10], start=1):
        says = f"{found.answer} ({found.answers[0][1]:.3f})"
        truth = "" if found.truth is None else f"true answer {found.truth}, "
        family = f"family {done.results.families.numbers[number - 1]}, "
        print_text(f"{number:4}. {family}{truth}model says {says}, confidence {found.confidence:.3f}")
    if len(done.results.found) > 10:
        print_text(f"      and {len(done.results.found) - 10} more")
    print_text(f"{done.results.ending}: {headline(manifest, done.results)}")
    often = how_often_words(manifest, done.results)
    print_text(f"{capitalized(often)}.")
    for sentence in family_sentences(done.results):
        print_text(f"  {sentence}")
    again = stays(done.confirmations) if done.results.found else ""
    for sentence in (f"{capitalized(again)}." if again else "", done.results.control, *done.results.remarks):
        if sentence:
            print_text(sentence)
    for words in verdicts:
        print_text(words)
    print_text(f"report: {done.report}")


def _last_words(place: Sequence[Path]) -> list[str]:
    """How to resume the run in this folder, if one was begun."""
    if not place:
        return ["stopped before anything was written"]
    if (place[0] / FINISHED).exists() and (place[0] / REPORT).exists():
        return [
            f"stopped; the search is complete, its report is {place[0] / REPORT}. To render the missing pictures: "
            f"trex resume {place[0]}"
        ]
    return [
        f"stopped; every draw is kept. Resume: trex resume {place[0]}",
        f"Report so far: trex report {place[0]}",
    ]
