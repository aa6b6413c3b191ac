"""Which object of each hit is misread: the one that is given, that a trace tells, or that is responsible."""

from __future__ import annotations

from collections.abc import Sequence

from trex.curves.options import CurveOptions
from trex.curves.subject import Subject
from trex.explain.run_families import misread_object
from trex.explain.stored import read_explanations
from trex.explain.traces import read_traces
from trex.foundation.errors import InputError
from trex.foundation.words import counted
from trex.runs.folder import RunFolder
from trex.search.hit import Hit


def misread_objects(
    folder: RunFolder, hits: Sequence[Hit], options: CurveOptions
) -> list[tuple[Hit, Subject]]:
    """The hits whose misread object is known, with its index; InputError if none is, or if a given one is not there.

    Without given indices, it is what the run's traces tell, else the object responsible by its explanations.
    """
    if options.object:
        indices = _given(hits, options)
    else:
        traces, explained = read_traces(folder), read_explanations(folder)
        indices = [misread_object(hit, traces, explained) for hit in hits]
    found = [
        (hit, Subject(hit.record.scene, index))
        for hit, index in zip(hits, indices, strict=False)
        if index is not None
    ]
    if not found:
        raise InputError(
            f"no misread object of the hits of {folder.path} is known; trex explain {folder.path} finds the objects "
            f"responsible, or name the object of each hit with {options.written('object')}"
        )
    return found


def _given(hits: Sequence[Hit], options: CurveOptions) -> list[int | None]:
    """The indices that the user gave, one for each hit from the first on."""
    if len(options.object) > len(hits):
        times = f"{options.written('object')} was given {len(options.object)} times"
        raise InputError(f"{times} for {counted(len(hits), 'hit')}; give it once for each")
    for hit, index in zip(hits, options.object, strict=False):
        last = len(hit.record.scene.objects) - 1
        if not 0 <= index <= last:
            has = f"the hit of {hit.origin} has objects 0 to {last}"
            raise InputError(f"{options.written('object')} {index}: {has}")
    return list(options.object)
