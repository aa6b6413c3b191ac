"""Pictures of hits that a run folder has lost: rendered again, which their names prove, the hashes of their content."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from trex.inference.types import Picture
from trex.render.picture import Picture as ScenePicture
from trex.runs.folder import RunFolder
from trex.runs.picture_files import content_hash, is_sound, mask_file
from trex.runs.pictures import as_bytes, store_picture
from trex.runs.record import Record
from trex.worlds.looks import DECIDING
from trex.worlds.world import OpenWorld

log = logging.getLogger(__name__)
BATCH = 8  # pictures rendered at once


def restore_pictures(folder: RunFolder, world: OpenWorld, records: Sequence[Record]) -> None:
    """Render the missing and damaged pictures of a run's hits again; warns of those that are not back.

    A picture with another hash is not stored: what rendered it differs from what rendered the run.
    """
    target = folder.manifest.target
    lost = [
        record
        for record in {record.picture: record for record in records if record.picture}.values()
        if target.is_hit(np.array(record.log_probs)) and not is_sound(folder.path, record.picture)
    ]
    back = 0
    for start in range(0, len(lost), BATCH):
        part = lost[start : start + BATCH]
        pictures = world.renderer_at(DECIDING).render([record.z for record in part])
        back += sum(
            _is_back(folder, record.picture, picture) for record, picture in zip(part, pictures, strict=True)
        )
    if len(lost) > back:
        log.warning(
            "%d pictures of hits in %s are lost or damaged, and this machine renders others; bring them back",
            len(lost) - back,
            folder.path,
        )


def _is_back(folder: RunFolder, name: str, picture: Picture) -> bool:
    mask = picture.mask if isinstance(picture, ScenePicture) else None
    if content_hash(as_bytes(picture.pixels), mask) != name:
        return False
    for path in (folder.picture_path(name), mask_file(folder.path, name)):
        path.unlink(missing_ok=True)
    return store_picture(folder, picture) == name
