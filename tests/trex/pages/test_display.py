"""The one progress display, on a terminal and elsewhere."""

from __future__ import annotations

import io
import logging
import sys
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

from trex.foundation.words import counted, span
from trex.pages.display import QUIET_S, Display, LineOutput, display_if
from trex.search.progress import SearchProgress, Status


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def plain() -> tuple[Display, io.StringIO, Clock]:
    stream, clock = io.StringIO(), Clock()
    return Display(Console(file=stream), clock), stream, clock


def test_elsewhere_than_on_a_terminal_it_says_the_beginning_the_end_and_a_line_now_and_then() -> None:
    display, stream, clock = plain()
    with display:
        for done in range(101):
            clock.now = done * QUIET_S / 10
            display.show("scenes", done, 100, "one fact")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "scenes 0/100, one fact"
    assert lines[-1] == "scenes 100/100, one fact"
    assert 9 <= len(lines) <= 12
    assert lines[1] == "scenes 11/100, one fact, about 2 min 14 s left"


def test_on_a_terminal_it_is_one_live_line() -> None:
    stream = io.StringIO()
    with Display(Console(file=stream, force_terminal=True, width=120)) as display:
        display.show("scenes", 1, 2, "[bold]brackets stay[/bold]")
        display.show("scenes", 2, 2, "[bold]brackets stay[/bold]")
    assert "scenes 2/2, [bold]brackets stay[/bold]" in stream.getvalue()


class Cell:
    """The output of a notebook's cell, in place of IPython's."""

    def __init__(self) -> None:
        self.shown: list[object] = []

    def display(self, shown: object, *, display_id: bool) -> Cell:
        assert display_id
        self.shown.append(shown)
        return self

    def update(self, shown: object) -> None:
        self.shown[-1] = shown


def test_in_a_notebook_it_is_one_line_that_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell()
    module = ModuleType("IPython.display")
    vars(module)["display"] = cell.display
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    with Display(Console(file=io.StringIO(), force_jupyter=True)) as display:
        for done in range(3):
            display.show("scenes", done, 2, "<b>not bold</b>")
    (shown,) = cell.shown
    assert repr(shown) == "scenes 2/2, <b>not bold</b>"
    assert isinstance(shown, LineOutput)
    assert '<progress value="2" max="2">' in shown._repr_html_() and "&lt;b&gt;" in shown._repr_html_()


def test_where_nothing_is_to_be_shown_nothing_is(capfd: pytest.CaptureFixture[str]) -> None:
    with display_if(False) as display:
        display.show("scenes", 1, 2)
        display.say("a line")
        logging.getLogger("trex.render.blender.pool").info("starting Blender")
    assert capfd.readouterr() == ("", "")
    with display_if(True) as display:
        display.say("a line")
    assert capfd.readouterr().err == "a line\n"


def test_blender_is_said_to_start_while_it_starts_and_once() -> None:
    display, stream, _ = plain()
    logger = logging.getLogger("trex.render.blender.pool")
    with display:
        logger.info("starting Blender (%s)", counted(2, "process", "processes"))
        logger.info("starting Blender (2 processes)")
        logger.warning("starting Blender again: it ended")
        logger.warning("starting Blender again: it ended")
    logger.warning("nobody shows this")
    assert stream.getvalue().splitlines() == [
        "starting Blender (2 processes)",
        *["starting Blender again: it ended"] * 2,
    ]
    assert logging.getLogger("trex.render").handlers == []


@pytest.mark.process
def test_a_pool_tells_that_it_starts_blender_before_the_first_process_answers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from trex.render.blender import pool
    from trex.render.blender.blender_renderer import BlenderRenderer

    texts: list[str] = []

    def first(_settings: object, _program: object) -> object:
        texts.extend(caplog.messages)
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "Worker", first)
    caplog.set_level(logging.INFO, "trex.render")
    with BlenderRenderer("draft", "auto", processes=2) as renderer, pytest.raises(KeyboardInterrupt):
        _ = renderer.device
    assert texts == ["starting Blender (1 process)"]


def test_a_search_says_acceptance_and_speed_only_once_there_is_something_to_say() -> None:
    display, stream, clock = plain()
    search = SearchProgress(display, clock=clock)
    search.update(Status("prior", 0, 12, 0, 0, 0, 0.0, 0, 3))
    clock.now = 2.0
    search.update(Status("chain", 3, 12, 10, 8, 2, 0.5, 1, 3))
    first, second = stream.getvalue().splitlines()
    assert first == "prior scenes 0/12, found 0 (3 wanted)"
    assert second == "chains 3/12, accepted 25%, best confidence 0.500, found 1 (3 wanted), 5.00 renders/s"


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 scenes"), (1, "1 scene"), (2, "2 scenes"), (12_000, "12,000 scenes")]
)
def test_plurals(number: int, words: str) -> None:
    assert counted(number, "scene") == words


def test_plurals_that_do_not_just_add_an_s() -> None:
    assert [counted(n, "query", "queries") for n in (1, 2)] == ["1 query", "2 queries"]


def test_spans() -> None:
    assert [span(s) for s in (40, 130, 11_100)] == ["40 s", "2 min 10 s", "3 h 05 min"]


def test_no_other_module_makes_a_progress_bar() -> None:
    """One display; `trex queue watch` is a table that renews itself."""
    root = Path(__file__).resolve().parents[3]
    folders = ("trex", "clevr_models", "mnist_models", "artifacts", "render", "inference")
    files = [path for folder in folders for path in (root / folder).rglob("*.py")]
    found = {path.relative_to(root).as_posix() for path in files if "rich.progress" in path.read_text()}
    assert found == {"trex/pages/display.py"}
