"""The world of a bank as a command line names it: a query, or CLEVR's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trex.foundation.errors import InputError
from trex.query.question import resolve_question
from trex.query.schema import Query
from trex.query.shipped import query_path
from trex.query.toml_file import parse_query, read_text
from trex.scenes.prior import ScenePrior
from trex.worlds.registry import CLEVR
from trex.worlds.shipped.clevr_plan import make_prior, make_vocabulary

CLEVR_TEXT = "[scene]\nobjects = [3, 10]\n"
SECTION = "scene."


def world_query(named: Path, overrides: Sequence[str] = ()) -> tuple[Query, Path]:
    """The query that names a world, and its folder; for "clevr" one that holds CLEVR's own [scene] alone."""
    path = query_path(named)
    text = CLEVR_TEXT if str(named) == CLEVR and not path.exists() else read_text(path, [CLEVR])
    return parse_query(text, str(path), overrides), path.parent


def bank_world(named: Path, overrides: Sequence[str] = ()) -> ScenePrior:
    """The prior of a query's scenes (its file, or a shipped query's name), or of CLEVR's own if `named` is "clevr".

    Reads [scene] and [generator], and the question where `wrong` limits the scenes by it, so no model is loaded.
    `overrides` may set keys of [scene].
    """
    for setting in overrides:
        key = setting.partition("=")[0].replace(" ", "")
        if not key.startswith(SECTION):
            raise InputError(
                f"--set {setting} does not apply: a bank depends on [scene] alone, on --preset and on --seed"
            )
    query, folder = world_query(named, overrides)
    if query.generator.name != CLEVR:
        raise InputError(
            f"{named}: banks hold scenes of generator 'clevr', and this query's is {query.generator.name!r}, whose "
            "pictures cost next to nothing"
        )
    vocabulary = make_vocabulary(query, folder)
    return make_prior(query, vocabulary, resolve_question(query, vocabulary) if query.wrong else None)
