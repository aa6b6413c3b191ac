"""`pytest --trex-suite DIR --trex-model M`: one test for each scene of a suite, on its stored picture, without Blender.

A scene that failed in the last run, or that no run has asked, is expected to fail (xfail); with `--runxfail` it has to
pass. Every pytest loads this module if `trex` is installed, so it imports what is heavy inside its functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel
    from trex.suite.batch import Batch, BatchScene

SUITE, MODEL = "--trex-suite", "--trex-model"


class SceneItem(pytest.Item):
    """The test of one scene: the model's answer is the true one."""

    def __init__(
        self, name: str, parent: pytest.Session, *, batch: Batch, scene: BatchScene, spec: str
    ) -> None:
        super().__init__(name, parent, nodeid=f"{batch.folder.parent.name}::{name}")
        self._batch, self._scene, self._spec = batch, scene, spec

    def runtest(self) -> None:
        """Ask the model; the test fails with both answers if its own is wrong."""
        from trex.suite.run import ask_scene

        result = ask_scene(_model(self._spec), self._batch, self._scene, None)
        if result.fails:
            pytest.fail(result.words, pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        """The suite's folder and the name of the scene."""
        return self._batch.folder, None, self.name


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options."""
    group = parser.getgroup("trex", "regression suites of trex")
    group.addoption(SUITE, type=Path, metavar="DIR", help="one test for each scene of this suite")
    group.addoption(MODEL, metavar="MODEL", help="the model to ask about the suite, as in `trex suite run`")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the scenes, before -k and -m select; a usage error for a damaged suite or a missing option."""
    from trex.foundation.errors import TrexError

    suite, spec = config.getoption(SUITE), config.getoption(MODEL)
    if suite is None and spec is None:
        return
    if suite is None or spec is None:
        raise pytest.UsageError(f"{SUITE} and {MODEL} belong together; give both")
    try:
        items.extend(_items(session, suite, spec))
    except TrexError as error:
        raise pytest.UsageError(str(error)) from error


def _items(session: pytest.Session, suite: Path, spec: str) -> Iterator[SceneItem]:
    from trex.suite.last_run import read_last_run
    from trex.suite.run import read_suite, scenes_of

    batches, last = read_suite(suite), read_last_run(suite)
    for batch, scene in scenes_of(batches):
        key = batch.key(scene)
        item = SceneItem.from_parent(session, name=key, batch=batch, scene=scene, spec=spec)
        if last is None or last.failed.get(key, True):
            item.add_marker(pytest.mark.xfail(reason="known failure", raises=pytest.fail.Exception))
        yield item


@cache
def _model(spec: str) -> ClevrModel:
    from trex.worlds.world import open_model

    return open_model(spec)
