"""`pytest --trex-suite DIR --trex-model M`: one test for each scene of a suite, on its stored picture, without Blender.

With `--trex-render PRESET` the scene is rendered again. A scene that failed in the last run at the same look, or that
no run has asked, is expected to fail (xfail); with `--runxfail` it has to pass. A warning counts the scenes of that run
that are gone from the suite. Every pytest loads this module if `trex` is installed, so it imports what is heavy inside
its functions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel
    from trex.suite.batch import Batch, BatchScene
    from trex.suite.look import SuiteLook
    from trex.suite.rendered import Pictures

SUITE, MODEL, RENDER = "--trex-suite", "--trex-model", "--trex-render"
PicturesOf = Callable[["Batch", "BatchScene"], "Pictures"]


class SceneItem(pytest.Item):
    """The test of one scene: the model's answer is the true one."""

    def __init__(
        self,
        name: str,
        parent: pytest.Session,
        *,
        batch: Batch,
        scene: BatchScene,
        spec: str,
        pictures: PicturesOf,
    ) -> None:
        super().__init__(name, parent, nodeid=f"{batch.folder.parent.name}::{name}")
        self._batch, self._scene, self._spec, self._pictures = batch, scene, spec, pictures

    def runtest(self) -> None:
        """Ask the model; the test fails with both answers if its own is wrong."""
        from trex.suite.run import ask_scene

        pictures = self._pictures(self._batch, self._scene)
        result = ask_scene(_model(self._spec), self._batch, self._scene, pictures, None)
        if result.fails:
            pytest.fail(result.words, pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        """The suite's folder and the name of the scene."""
        return self._batch.folder, None, self.name


def pytest_addoption(parser: pytest.Parser) -> None:
    """The three options."""
    group = parser.getgroup("trex", "regression suites of trex")
    group.addoption(SUITE, type=Path, metavar="DIR", help="one test for each scene of this suite")
    group.addoption(MODEL, metavar="MODEL", help="the model to ask about the suite, as in `trex suite run`")
    group.addoption(
        RENDER, metavar="PRESET", help="render every scene again at this preset; pictures are cached"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the scenes, before -k and -m select; a usage error for a damaged suite or a missing option."""
    from trex.foundation.errors import TrexError

    suite, spec, preset = (config.getoption(name) for name in (SUITE, MODEL, RENDER))
    if suite is None and spec is None and preset is None:
        return
    if suite is None or spec is None:
        alone = f"{RENDER} needs both" if suite is None and spec is None else "give both"
        raise pytest.UsageError(f"{SUITE} and {MODEL} belong together; {alone}")
    try:
        items.extend(_items(session, suite, spec, preset))
    except TrexError as error:
        raise pytest.UsageError(str(error)) from error


def _items(session: pytest.Session, suite: Path, spec: str, preset: str | None) -> Iterator[SceneItem]:
    from trex.suite.look import SuiteLook, read_last_run
    from trex.suite.run import gone_scenes, gone_words, read_suite, scenes_of

    look = SuiteLook(preset)
    batches, last = read_suite(suite), read_last_run(suite, look)
    if gone := gone_scenes(last, batches):
        warnings.warn(pytest.PytestWarning(f"{suite}: {gone_words(gone)}"), stacklevel=1)
    pictures = _stored if preset is None else _rendered(session.config, batches, look)
    for batch, scene in scenes_of(batches):
        key = batch.key(scene)
        item = SceneItem.from_parent(
            session, name=key, batch=batch, scene=scene, spec=spec, pictures=pictures
        )
        if last is None or last.failed.get(key, True):
            item.add_marker(pytest.mark.xfail(reason="known failure", raises=pytest.fail.Exception))
        yield item


def _stored(batch: Batch, scene: BatchScene) -> Pictures:
    return (batch.picture(scene),)


def _rendered(config: pytest.Config, batches: Sequence[Batch], look: SuiteLook) -> PicturesOf:
    """Render scene by scene in one process, which ends with the session."""
    from trex.suite.rendered import open_rendered

    stack = ExitStack()
    config.add_cleanup(stack.close)
    suite = stack.enter_context(open_rendered(batches, look, processes=1))
    return lambda batch, scene: next(suite.pictures([batch.key(scene)]))


@cache
def _model(spec: str) -> ClevrModel:
    from trex.worlds.world import open_model

    return open_model(spec)
