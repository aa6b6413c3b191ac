"""A bank: members of a prior by number, and their pictures at one look."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from trex.bank.disk import SCENES, bank_root, refuse_link
from trex.bank.drawn import DrawnScenes, member
from trex.bank.index import FILE, MAX_MEMBERS, BankIndex, index_of, read_index, write_index
from trex.bank.store import PATIENCE_S, BankBound, Batches, Uncounted, Use, has_room, not_kept
from trex.foundation.errors import InputError, TrexError
from trex.foundation.files import Closing
from trex.foundation.progress import Progress, silent
from trex.inference.statistics.two_phase import spread_members
from trex.query.schema import RenderSection
from trex.render.blender.blender_renderer import default_processes
from trex.render.cache import CachedRenderer, entry_name, go_on
from trex.render.cache_folder import entries
from trex.render.renderer import SceneRenderer
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene, scene_id
from trex.worlds.world import Plan, open_renderer

BATCH = 16  # members rendered at once by `render`: what a kill costs at most


class Bank(Closing):
    """Member i is a draw of the prior, a function of the bank's seed and i alone, whatever has been rendered.

    Open it with `bank_of`; as a context manager it is closed at the end. Several programs may use and fill one bank.
    """

    def __init__(
        self,
        prior: ScenePrior,
        path: Path,
        index: BankIndex,
        inner: SceneRenderer,
        *,
        is_optional: bool = False,
        processes: int = 1,
    ) -> None:
        """Make the bank's folder if there is none; InputError or RunError if that fails or if it is foreign.

        If `is_optional`, `renderer` stores pictures only while all banks are below their limit, deletes no bank for
        them, and goes on if one cannot be stored.
        """
        _make_folder(path)
        self.prior, self.path, self._index = prior, path, index
        self._stores = not is_optional or has_room(path.parent)
        if is_optional:
            self._cache = CachedRenderer(inner, path, Uncounted(), go_on)
        else:
            self._cache = CachedRenderer(inner, path, BankBound(path), not_kept)
        self.processes = processes
        self._drawn = DrawnScenes(
            path.parent / SCENES / f"{index.world_key}.jsonl", partial(member, prior, index.seed)
        )
        try:
            self._use = Use(path)
        except OSError as error:
            not_kept(error, path)
        try:
            self._begin()
        except BaseException:
            self._use.close()
            raise
        self._mark_used()

    @property
    def renderer(self) -> SceneRenderer:
        """Answers from the stored pictures, each checked, and renders and stores those that are missing.

        DiskFullError, RunError or InputError (the limit) if a picture cannot be stored; those before are kept.
        """
        return self._cache if self._stores else self._cache.inner

    @property
    def index(self) -> BankIndex:
        """The bank's identity: world, seed and look."""
        return self._index

    @property
    def rendered_now(self) -> int:
        """How many pictures this object had to render."""
        return self._cache.misses

    def scenes(self, indices: Iterable[int], keep: bool = True) -> list[Scene]:
        """The members with these numbers, in this order; renders nothing.

        Unless `keep`, those that must be drawn are not stored: of very many, few are asked for again.
        """
        wanted = list(indices)
        if any(not 0 <= i < MAX_MEMBERS for i in wanted):
            raise InputError(
                f"members {wanted[0]} to {wanted[-1]}: a bank has members 0 to {MAX_MEMBERS - 1:,}"
            )
        try:
            return list(self._drawn.scenes(wanted, keep))
        except OSError as error:
            not_kept(error, self._drawn.path)

    def draw_ahead(self, indices: Iterable[int]) -> None:
        """Have other processes draw those of these members that are missing, if that takes long; `scenes` takes them.

        As many as render.
        """
        self._drawn.draw_ahead(indices, self.prior, self.processes)

    def count(self) -> int:
        """n if pictures of members 0 to n - 1 are stored, at least as many as are known; checks names, not content."""
        most = len(entries(self.path))
        n = self._index.rendered if most >= self._index.rendered else 0
        while n < most and self._is_stored(n):
            n += 1
        if n != self._index.rendered:
            self._note(n)
        return n

    def render(self, n: int, progress: Progress = silent, *, spread: int = 0) -> int:
        """Render the missing ones of members 0 to n - 1, and check the others; a kill costs one batch at most.

        With `spread`, only the spread sample of about so many of them (`two_phase.spread_members`). Returns how many
        they are. Programs that fill the same bank at once share the work. Errors as from `renderer`.
        """
        check_number(n)
        members: Sequence[int] = spread_members(self._index.seed, spread, n) if spread else range(n)
        batches = [members[i : i + BATCH] for i in range(0, len(members), BATCH)]
        done = 0
        self.draw_ahead(members)
        try:
            with Batches(self.path) as locks:
                for is_second in (False, True):
                    others = []  # are rendered by another program, and checked in the second pass
                    for batch in batches:
                        if is_second:
                            self._wait(locks, batch)  # without the lock, both programs write the same bytes
                        elif not locks.take(batch[0]):
                            others.append(batch)
                            continue
                        self._cache.render(self.scenes(batch))
                        locks.free(batch[0])
                        done += len(batch)
                        progress("scenes in the bank", done, len(members))
                    batches = others
        finally:
            with suppress(OSError, TrexError):
                self.count()
            self._mark_used()
        return len(members)

    def _wait(self, locks: Batches, batch: Sequence[int]) -> None:
        what = f"scenes {min(batch)} to {max(batch)} of the bank {self.path.name[:8]}"
        locks.wait(batch[0], what, lambda: sum(map(self._is_stored, batch)), PATIENCE_S)

    def close(self) -> None:
        """Close the renderer, and let others delete the bank."""
        self._drawn.close()
        self._use.close()
        self._cache.close()

    def _begin(self) -> None:
        """Read the bank's index, or write it; nobody deletes the bank from now on."""
        found = read_index(self.path)
        if found is not None:
            self._index = found
            return
        try:
            self._note(0)
        except OSError as error:
            not_kept(error, self.path)

    def _is_stored(self, i: int) -> bool:
        (scene,) = self.scenes([i])
        path = self._cache.path(entry_name(self._index.renderer, scene_id(scene)))
        return path.is_file() and not path.is_symlink() and not path.parent.is_symlink()

    def _note(self, n: int) -> None:
        self._index = self._index.model_copy(update={"rendered": n})
        write_index(self.path, self._index)

    def _mark_used(self) -> None:
        with suppress(OSError):
            os.utime(self.path / FILE, follow_symlinks=False)


def bank_of(
    world: Plan | ScenePrior,
    look: RenderSection | str,
    folder: Path | None = None,
    *,
    seed: int = 0,
    renderer: SceneRenderer | None = None,
    is_optional: bool = False,
) -> Bank:
    """The bank of a query's world, or of a prior, at a look (a query's [render], or a preset).

    It is kept below `folder` (`bank_root()` if None). The seed is the bank's own, the same for all queries, not that of
    a search; members are independent of the draws of every search. `renderer` must render the look if given; otherwise
    one is made, which for device "auto" starts Blender to learn the device. `is_optional`: see `Bank`. InputError in a
    world without objects.
    """
    prior = world if isinstance(world, ScenePrior) else world.scenes
    if not 0 <= seed < 1 << 63:
        raise InputError(f"seed {seed} must be from 0 to 2^63 - 1")
    section = look if isinstance(look, RenderSection) else RenderSection(preset=look)
    inner = renderer or open_renderer(section, prior.vocabulary)
    try:
        index = index_of(prior, seed, member(prior, seed, 0), section.preset, inner.key)
        place = (folder or bank_root()) / index.key
        processes = section.processes or default_processes()
        return Bank(prior, place, index, inner, is_optional=is_optional, processes=processes)
    except BaseException:
        if renderer is None:
            inner.close()
        raise


def _make_folder(path: Path) -> None:
    """Make a bank's folder; InputError if it is a link, or if there can be none."""
    refuse_link(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot create the bank {path} ({error.strerror or error}); name another folder with --bank or TREX_BANK"
        ) from error


def check_number(n: int) -> None:
    """InputError unless a bank can have this many scenes."""
    if not 1 <= n <= MAX_MEMBERS:
        raise InputError(f"{n:,} scenes: a bank holds 1 to {MAX_MEMBERS:,}")
