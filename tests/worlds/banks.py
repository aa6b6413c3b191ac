"""Banks on the fake renderer, and renderers that tell what they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from trex.bank.bank import Bank, bank_of
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

SMALL = ScenePrior(CLEVR.revoke("cube"), (1, 2))  # quickly drawn


class Telling:
    """The fake renderer; counts the scenes that it renders, and calls `before` with each batch."""

    def __init__(self, before: Callable[[Sequence[Scene]], None] = lambda zs: None, width: int = 60) -> None:
        self._inner = FakeRenderer(width, 40)
        self._before = before
        self.rendered = 0

    @property
    def key(self) -> str:
        return self._inner.key

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        self._before(zs)
        self.rendered += len(zs)
        return self._inner.render(zs)

    def close(self) -> None:
        self._inner.close()


def small_bank(
    folder: Path, renderer: Telling | None = None, prior: ScenePrior = SMALL, seed: int = 0
) -> Bank:
    """A bank of small pictures below this folder."""
    return bank_of(prior, "fake", folder, seed=seed, renderer=renderer or Telling())


def filled(folder: Path, n: int = 5, seed: int = 0) -> Path:
    """The folder of a closed bank with n pictures."""
    with small_bank(folder, seed=seed) as bank:
        bank.render(n)
        return bank.path


def picture_bytes(folder: Path) -> dict[str, bytes]:
    """The content of a bank's picture files by name."""
    return {path.name: path.read_bytes() for path in folder.rglob("*.picture")}
