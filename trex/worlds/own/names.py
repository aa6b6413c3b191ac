"""The names that a query holds for objects: given in this process, or in a module ("package.module:object")."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from trex.clevr_models.adapters.named_object import import_object
from trex.foundation.errors import InputError
from trex.foundation.extensions import LIVE, give, given
from trex.inference.targets.kind import TargetKind
from trex.inference.targets.own import Target
from trex.query.code import KERNEL, PRESET, TARGET, WORLD
from trex.render.drawing import SceneDrawing
from trex.scenes.prior import ScenePrior
from trex.worlds.kernels import ProposalKind, SamplerKind
from trex.worlds.own.proposal import proposal_kind
from trex.worlds.own.world import World
from trex.worlds.registry import WorldEntry

if TYPE_CHECKING:
    from trex.worlds.latents import Latent
    from trex.worlds.world import World as AnyWorld


def named(keyed: Mapping[str, object]) -> dict[str, object]:
    """The keys of a query with names for objects, which stand for them in this process from now on.

    InputError for an object that is none of these parts, and if a prior of scenes says what another key says.
    """
    found = dict(keyed)
    if callable(found.get(PRESET)):
        raise InputError(
            "preset takes a name; a function that draws scenes belongs to the world: "
            "trex.World(prior=trex.ScenePrior(n_objects=5), render=function)"
        )
    for key, name_of in ((WORLD, _world), (TARGET, _target), (KERNEL, _kernel)):
        thing = found.get(key)
        if thing is None or isinstance(thing, str):
            continue
        keys = name_of(thing)
        if twice := [each for each in keys if each != key and each in found]:
            raise InputError(
                f"the world gives {twice[0]} already; leave it out, or give it to the world alone"
            )
        found |= keys
    return found


def load(keyed: Sequence[tuple[str, str]]) -> None:
    """Import the objects that these keys of a query name, unless they are there; InputError if one cannot be."""
    made: Mapping[str, Callable[[object, str], object]] = {
        TARGET: lambda thing, name: _kind(thing, name),
        KERNEL: proposal_kind,
        PRESET: lambda thing, name: _drawing(thing, name),
    }
    types = {TARGET: (TargetKind,), KERNEL: (ProposalKind, SamplerKind), PRESET: (SceneDrawing,)}
    for key, name in keyed:
        if any(given(of, name) is not None for of in types[key]):
            continue
        thing = made[key](import_object(name), name)
        if getattr(thing, "name", name) != name:
            raise InputError(f"{key} = {name!r} is called {thing.name!r} there; name it {thing.name!r}")  # type: ignore[attr-defined]
        give(thing)


def _world(thing: object) -> dict[str, object]:
    world = World(thing) if isinstance(thing, ScenePrior) else thing
    if isinstance(world, World):
        keys = world.keys()
        name = str(keys[WORLD])
        if name.startswith(LIVE):
            give(WorldEntry(name, world))
        return keys
    if all(hasattr(world, part) for part in ("name", "plan", "noun")):
        there = cast("AnyWorld[Latent]", world)
        return {WORLD: give(WorldEntry(f"{LIVE}{there.name}", lambda _: there))}
    raise InputError(
        f"world is of type {type(thing).__name__}; give a trex.World, a trex.ScenePrior, or the name of a world"
    )


def _target(thing: object) -> dict[str, object]:
    return {TARGET: give(_kind(thing, ""))}


def _kind(thing: object, name: str) -> TargetKind:
    if isinstance(thing, TargetKind):
        return thing
    if isinstance(thing, Target):
        return thing.kind(name)
    advice = (
        "wrap the function: trex.Target(function)" if callable(thing) else "give a trex.Target, or a name"
    )
    raise InputError(f"target is of type {type(thing).__name__}; {advice}")


def _kernel(thing: object) -> dict[str, object]:
    return {KERNEL: give(proposal_kind(thing))}


def _drawing(thing: object, name: str) -> SceneDrawing:
    if not callable(thing):
        raise InputError(
            f"{PRESET} = {name!r} is of type {type(thing).__name__}; it must be a function of a scene"
        )
    return SceneDrawing(name, thing)
