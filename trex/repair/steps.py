"""A repair's domain, and the first three steps: mistakes are grown, grouped, and the groups labelled.

A step is a function of the folder and the loaded models; it resumes, and one that is finished is not repeated.
"""

from __future__ import annotations

from pathlib import Path

from trex.foundation.errors import RunError
from trex.foundation.progress import Progress
from trex.repair.domain import Domain, Opened, Voters
from trex.repair.folder import RepairFolder
from trex.repair.settings import DecoderQuery, RepairQuery, SceneQuery

COMMITTEE = Voters()
Folder = RepairFolder[DecoderQuery | SceneQuery]


def domain_of(query: RepairQuery) -> Domain:
    if isinstance(query, SceneQuery):
        from trex.repair.scenes.domain import SCENES

        return SCENES
    from trex.repair.decoders.domain import DECODERS

    return DECODERS


def prepared(folder: Folder, data: Path | None = None, processes: int | None = None) -> Opened:
    """Models and data of an open repair; RunError if it was begun with others."""
    sources, opened = domain_of(folder.query).prepare(folder.query, folder.path, data, processes)
    now, then = sources.model_dump(), folder.sources.model_dump()
    for name in now:
        if now[name] != then[name]:
            raise RunError(
                f"{folder.path} was begun with another {name} ({then[name]}, now {now[name]}); give that again, or "
                "begin anew"
            )
    return sources, opened


def identify(folder: Folder, loaded: object, progress: Progress) -> None:
    """Grow mistakes; InputError if there are fewer pictures than the query asks for."""
    grow = domain_of(folder.query).grow(folder, loaded)
    place = folder.begin("identify")
    if place is not None:
        folder.finish("identify", grow(place, progress))


def distill(folder: Folder, loaded: object, progress: Progress) -> None:
    """Group the mistakes; InputError for too few mistakes, or if none of them belong together."""
    folder.require("identify")
    place = folder.begin("distill")
    if place is not None:
        folder.finish("distill", domain_of(folder.query).cluster(folder, loaded)(place, progress))


def draw(folder: Folder, loaded: object) -> Path:
    """The folder of the pictures to vote on, drawn if they are not there; of rendered scenes it is empty."""
    place = folder.begin("pictures")
    if place is not None:
        drawn = domain_of(folder.query).draw
        if drawn is not None:
            drawn(folder, loaded, place)
        folder.finish("pictures")
    return folder.require("pictures")


def label(folder: Folder, loaded: object, progress: Progress, voters: Voters = COMMITTEE) -> None:
    """Label the components by votes, or by the truth; InputError, before anything is written, for unusable votes."""
    folder.require("distill")
    draw(folder, loaded)
    given, carry_out = domain_of(folder.query).judge(folder, loaded, voters)
    place = folder.begin("label", given)
    if place is not None:
        folder.finish("label", carry_out(place, progress))
