"""Estimates a search's duration from seconds per picture, measured on this machine or else as documented."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from trex.artifacts.cache import cache_root
from trex.foundation.errors import TrexError
from trex.foundation.files import read_text, write_atomic
from trex.foundation.json_fields import mapping
from trex.foundation.parse import parse_json
from trex.foundation.words import rough_span
from trex.query.schema import Query, RenderSection
from trex.render.blender.blender_renderer import default_processes
from trex.render.presets import PRESETS, preset_named
from trex.runs.sessions import Counts
from trex.worlds.costs import BESIDE_S, CPU_S
from trex.worlds.kernels import SURROGATE
from trex.worlds.latents import SCENES
from trex.worlds.looks import ladder
from trex.worlds.world import Plan, size_without_blender

FILE = "seconds_a_picture.json"
LEAST = 20  # least number of pictures for a measurement
LARGE = "reference"  # looks like CLEVR's own preset in a twenty-fifth of the time
MAX_LARGE = (
    8  # hits that are rendered so for the page, most confident first; each costs about 5 seconds of CPU time
)
VIEWS = 10  # viewpoints of each hit that say how far it holds, from the prior's cameras and lights
NOISE = 4  # noise draws of each for the same, besides those that decided that it counts as found
START_S = 4.0  # about, until a Blender renders its first picture; each look has its own


@dataclass(frozen=True)
class Duration:
    """An upper bound on a search's duration in seconds, and the source of the estimate."""

    seconds: float
    source: str

    def sentence(self) -> str:
        """The estimate in words: "about 13 min, at the speed measured on this machine"."""
        return f"about {rough_span(self.seconds)}, at the speed {self.source}"


def has_known_cost(query: Query) -> bool:
    """Whether docs/reference/presets.md says what a picture of this query costs."""
    return query.generator.name == "clevr" and query.render.preset in CPU_S


def estimate(query: Query, pictures: int, cheap: int = 0, cheap_cpu_s: float = 0.0) -> Duration | None:
    """The time for this many pictures of a query, and for cheap ones with the CPU seconds that they cost.

    Blender's starts are included. None if nothing is known about the pictures' speed. Only searches
    without a bank are measured: in others a picture may cost anything from a read to a dear render.
    """
    measured = _known().get(_key(query))
    if not query.search.bank and isinstance(measured, int | float) and 0 < measured < 1e6:
        return Duration(pictures * measured + START_S, "measured on this machine")
    if not has_known_cost(query):
        return None
    cpu_s = CPU_S[query.render.preset]
    processes = query.render.processes or default_processes()
    seconds = pictures * (cpu_s / processes + BESIDE_S) + cheap_cpu_s / processes + cheap * BESIDE_S
    missing = "" if query.search.bank else "; no search was measured here yet"
    return Duration(
        seconds + _starts(query) * START_S, f"documented for an idle CPU (docs/reference/presets.md){missing}"
    )


def large_s(pictures: int) -> float:
    """The time for large pictures of hits, which one Blender renders after the search."""
    return pictures * (CPU_S[LARGE] + BESIDE_S) + START_S if pictures else 0.0


def pictures_again(render: RenderSection) -> int:
    """The pictures that are rendered to say how far one scene holds."""
    return NOISE * render.pictures + VIEWS * render.noise


def most_large(plan: Plan) -> int:
    """The most large pictures that a search of this plan renders for its page, unless it is told not to."""
    preset = plan.query.render.preset
    is_rendered = plan.world.form is SCENES and preset in PRESETS
    return MAX_LARGE if is_rendered and preset_named(preset).width < preset_named(LARGE).width else 0


def _starts(query: Query) -> int:
    """The most Blenders that a search starts one after the other: for the deciding look, and for cheaper ones."""
    cheap = ladder(query.render) if query.search.bank else ()
    looks = [look for look in cheap if size_without_blender(look) is None]
    return 1 + (
        len(looks) if query.search.kernel == SURROGATE else len([look for look in cheap[:1] if look in looks])
    )


@contextmanager
def measured(query: Query, counts: Counts) -> Iterator[None]:
    """Measure the seconds per picture of the search inside, for later estimates; no draw depends on it."""
    began = monotonic()
    yield
    seconds = monotonic() - began
    if counts.renders >= LEAST and seconds > 0 and query.render.preset in CPU_S and not query.search.bank:
        with suppress(TrexError, OSError):  # an estimate is not worth an error
            path = _path()
            path.parent.mkdir(parents=True, exist_ok=True)
            kept = {**_known(), _key(query): seconds / counts.renders}
            write_atomic(path, (json.dumps(kept, indent=1) + "\n").encode(), is_precious=False)


def _known() -> dict[str, object]:
    try:
        return dict(mapping(parse_json(read_text(_path()), FILE), FILE))
    except TrexError:  # missing or damaged: measured again
        return {}


def _key(query: Query) -> str:
    render = query.render
    return f"{query.generator.name} {render.preset} {render.device} {render.processes or default_processes()}"


def _path() -> Path:
    return cache_root() / FILE
