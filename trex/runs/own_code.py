"""The code that a run's query names besides world and model: loaded to read its draws, held against the run's."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol, runtime_checkable

from trex.foundation.errors import InputError, RunError
from trex.foundation.extensions import LIVE, is_code, is_given
from trex.foundation.parse import parse_json
from trex.inference.targets.kind import TargetKind
from trex.query.schema import Query
from trex.runs.trust import check_made_here
from trex.worlds.code import load_code
from trex.worlds.kernels import proposals
from trex.worlds.world import Plan


@runtime_checkable
class WithCode(Protocol):
    """A world with code of the user's own that decides its draws."""

    def codes(self, plan: Plan) -> Mapping[str, str]:
        """A hash of each part, by its name in words."""
        ...


def load_target(path: Path, text: str) -> None:
    """Import the target in a module that the manifest of a run folder names, without which its draws mean nothing.

    RunError unless this user has made or trusted the folder, or for an object that this process does not know. Does
    nothing for any other target, or a damaged manifest.
    """
    found: object = None
    with suppress(ValueError):
        found = parse_json(text, str(path))
    data = found.get("query") if isinstance(found, dict) else None
    target = data.get("target") if isinstance(data, dict) else None
    kind = target.get("kind") if isinstance(target, dict) else None
    if not isinstance(kind, str):
        return
    if kind.startswith(LIVE) and not is_given(TargetKind, kind):
        raise RunError(
            f"{path}: its target {kind!r} is an object of a Python session, which a run folder cannot store; give it "
            "again, with the same code and level: trex.open_run(folder, target=...)"
        )
    if not is_code(kind):
        return
    with suppress(ValueError):
        query = Query.model_validate(data)
        try:
            check_made_here(path, query)
            load_code(query)
        except InputError as error:
            raise RunError(str(error)) from error


def own_codes(plan: Plan) -> dict[str, str]:
    """Hashes of the user's own parts that decide the draws of a plan, besides model, renderer and target."""
    codes = {}
    kernel = proposals().get(plan.query.search.kernel)
    if kernel is not None and kernel.code:
        codes[f"proposal {kernel.name}"] = kernel.code
    for number, condition in enumerate(getattr(plan.prior, "conditions", ()), start=1):
        codes[f"condition {number} of the prior"] = condition.key
    if isinstance(plan.world, WithCode):
        codes |= plan.world.codes(plan)
    return codes
