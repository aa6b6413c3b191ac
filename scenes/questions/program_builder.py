"""Builds a question step by step: a program together with each step's value on the scene."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trex.scenes.graph import RELATIONS
from trex.scenes.questions.bitsets import Bits, is_single
from trex.scenes.questions.filters import FILTER_ORDER, Description, Option, World, absent, pick, pick_option
from trex.scenes.questions.programs import Program, Step


class DeadEndError(Exception):
    """The choices so far lead to no question of this family; another attempt chooses differently."""


class Objects(NamedTuple):
    """A step that yields a set of objects, with the set."""

    step: int
    bits: Bits


class Single(NamedTuple):
    """A step that yields one object, with its index."""

    step: int
    which: int


class Draft:
    """One attempt at a question. Every method adds steps; it raises DeadEndError if nothing matches."""

    def __init__(self, rng: np.random.Generator, world: World) -> None:
        self.rng = rng
        self.world = world
        self.steps: list[Step] = []

    def program(self) -> Program:
        """The steps so far."""
        return tuple(self.steps)

    def add(self, function: str, *inputs: int, word: str | None = None) -> int:
        """Add one step and return its index."""
        self.steps.append(Step(function, inputs, () if word is None else (word,)))
        return len(self.steps) - 1

    def everything(self) -> Objects:
        """All objects of the scene."""
        return Objects(self.add("scene"), self.world.sets.everything)

    def describe(self, among: Objects, texts: Description) -> Objects:
        """The objects of a set that match a description."""
        step, bits = among
        for attribute, word in zip(FILTER_ORDER, texts, strict=True):
            if word is not None:
                step = self.add(f"filter_{attribute}", step, word=word)
                bits &= self.world.sets.having[attribute].get(word, 0)
        return Objects(step, bits)

    def some(self, among: Objects, empty_share: float, silent: int = 0) -> Objects:
        """The objects of a set that match a random description of at least one word; none with this probability."""
        empty = self.world.suited(_names_none_of, among.bits, silent)
        fitting = self.world.suited(_names_some_of, among.bits, silent)
        if fitting and self.rng.random() >= empty_share:
            return self.describe(among, self.draw(fitting).said)
        texts = absent(self.rng, self.world, silent) if not empty or pick(self.rng, 2) else None
        return self.describe(among, texts or self.draw(empty).said)

    def fitting_one(self, among: Bits, silent: int = 0) -> list[Option]:
        """The descriptions that match exactly one object of a set and name no attribute of `silent`."""
        return self.world.suited(_matches_one_of, among, silent)

    def the(self, among: Objects, silent: int = 0) -> Single:
        """The one object of a set that matches a random description."""
        return self.unique(self.describe(among, self.draw(self.fitting_one(among.bits, silent)).said))

    def unique(self, among: Objects) -> Single:
        """The only object of a set."""
        if among.bits.bit_count() != 1:
            raise DeadEndError
        return Single(self.add("unique", among.step), among.bits.bit_length() - 1)

    def relate(self, anchor: Single, relation: str) -> Objects:
        """The objects left of, right of, in front of or behind an object."""
        step = self.add("relate", anchor.step, word=relation)
        return Objects(step, self.world.sets.beyond[relation][anchor.which])

    def same(self, anchor: Single, attribute: str) -> Objects:
        """The other objects that share an attribute with an object."""
        step = self.add(f"same_{attribute}", anchor.step)
        return Objects(step, self.world.sets.same(attribute, anchor.which))

    def the_related(self, anchor: Single, silent: int = 0) -> Single:
        """The one object related to an anchor that matches a random description; without the relation several would."""
        return self.unique(self.related(anchor, _matches_one_there, silent))

    def some_related(self, anchor: Single, empty_share: float) -> Objects:
        """The objects related to an anchor that match a random description; none with this probability.

        Without the relation more would match: the description fits something, if not in that place.
        """
        if self.rng.random() < empty_share:
            return self.related(anchor, _matches_none_there)
        return self.related(anchor, _matches_some_there)

    def related(self, anchor: Single, suits: Callable[[Option, Bits, int], bool], silent: int = 0) -> Objects:
        """Those related to an object that match a description which suits, given all that are related so."""
        for at in self.rng.permutation(len(RELATIONS)):
            bits = self.world.sets.beyond[RELATIONS[at]][anchor.which]
            options = self.world.suited(suits, bits, silent)
            if options:
                return self.describe(self.relate(anchor, RELATIONS[at]), self.draw(options).said)
        raise DeadEndError

    def draw(self, options: list[Option]) -> Option:
        """One of these descriptions."""
        if not options:
            raise DeadEndError
        return pick_option(self.rng, options)


# Whether a description suits; none names an attribute of `silent`. "There" means: where a relation holds, and without
# that the description would match more.


def _names_none_of(option: Option, among: Bits, silent: int) -> bool:
    return option.length > 0 and not option.names & silent and not option.fits & among


def _names_some_of(option: Option, among: Bits, silent: int) -> bool:
    return option.length > 0 and not option.names & silent and option.fits & among != 0


def _matches_one_of(option: Option, among: Bits, silent: int) -> bool:
    return not option.names & silent and is_single(option.fits & among)


def _matches_one_there(option: Option, there: Bits, silent: int) -> bool:
    return _matches_one_of(option, there, silent) and option.fits & there != option.fits


def _matches_none_there(option: Option, there: Bits, silent: int) -> bool:
    return not option.names & silent and not option.fits & there


def _matches_some_there(option: Option, there: Bits, silent: int) -> bool:
    return not option.names & silent and option.fits & there not in (0, option.fits)
