"""The first three steps, the same for both domains: mistakes are grown, grouped, and the groups labelled.

A step is a function of the folder and the loaded models; it resumes, and one that is finished is not repeated.
"""

from __future__ import annotations

from pathlib import Path

from trex.foundation.progress import Progress
from trex.repair.domain import Voters, domain_of
from trex.repair.folder import RepairFolder
from trex.repair.settings import DecoderQuery, SceneQuery

COMMITTEE = Voters()
Folder = RepairFolder[DecoderQuery | SceneQuery]


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
        domain_of(folder.query).draw(folder, loaded, place)
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
