"""Which shapes, sizes, colors and materials may occur, alone and together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from trex.foundation.errors import InputError, unknown
from trex.scenes.properties import MATERIALS, RADIUS, RGB
from trex.scenes.scene import ATTRIBUTES, SceneObject

# CLEVR's synonyms (its question templates), singular.
SYNONYMS = {
    "large": ("large", "big"),
    "small": ("small", "tiny"),
    "metal": ("metal", "metallic", "shiny"),
    "rubber": ("rubber", "matte"),
    "cube": ("cube", "block"),
    "sphere": ("sphere", "ball"),
    "cylinder": ("cylinder",),
    "thing": ("thing", "object"),
}
OUTLINES = ("cube", "sphere", "cylinder", "cone", "mesh")
Category = tuple[str, str, str, str]
Combination = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ShapeCard:
    """A shape: its words, its outline for the analytic id map, its mesh (OBJ, half extent 1)."""

    name: str
    plural: str
    outline: str
    mesh: str
    nouns: tuple[str, ...]
    hull: tuple[
        tuple[float, float, float, float], ...
    ] = ()  # outline "mesh": half spaces a x + b y + c z <= d

    @property
    def words(self) -> tuple[str, ...]:
        """Every word for the shape in a question or in revoke: name, plural, nouns and theirs."""
        return (self.name, self.plural, *self.nouns, *(noun + "s" for noun in self.nouns))


@dataclass(frozen=True)
class Vocabulary:
    """The categories that a scene may hold: every combination of the values, except for the revoked ones."""

    shapes: tuple[str, ...]
    sizes: tuple[str, ...]
    colors: tuple[str, ...]
    materials: tuple[str, ...]
    revoked: tuple[Combination, ...] = ()
    cards: tuple[ShapeCard, ...] = ()

    def values(self, attribute: str) -> tuple[str, ...]:
        """All values of shape, size, color or material, revoked ones included."""
        if attribute not in ATTRIBUTES:
            raise unknown("attribute", attribute, ATTRIBUTES)
        return {"shape": self.shapes, "size": self.sizes, "color": self.colors, "material": self.materials}[
            attribute
        ]

    def allows_category(self, category: Category) -> bool:
        """Whether (shape, size, color, material) may occur."""
        pairs = dict(zip(ATTRIBUTES, category, strict=True))
        known = all(value in self.values(attribute) for attribute, value in pairs.items())
        return known and not any(all(pairs[a] == v for a, v in combination) for combination in self.revoked)

    def allows(self, item: SceneObject) -> bool:
        """Whether an object of this category may occur."""
        return item.category in self._allowed

    def combinations(self) -> tuple[Category, ...]:
        """Every (shape, size, color, material) that may occur, in a fixed order."""
        return self._combinations

    def available(self, attribute: str) -> tuple[str, ...]:
        """The values of an attribute that occur in at least one allowed combination, in vocabulary order."""
        column = ATTRIBUTES.index(attribute)
        seen = {category[column] for category in self.combinations()}
        return tuple(value for value in self.values(attribute) if value in seen)

    @cached_property
    def _combinations(self) -> tuple[Category, ...]:
        every = product(self.shapes, self.sizes, self.colors, self.materials)
        return tuple(category for category in every if self.allows_category(category))

    @cached_property
    def _allowed(self) -> frozenset[Category]:
        return frozenset(self._combinations)

    def card(self, shape: str) -> ShapeCard:
        """The card of a shape of this vocabulary."""
        for card in self.cards:
            if card.name == shape:
                return card
        raise unknown("shape", shape, self.shapes, "Introduce it in [scene] or drop it.")

    def revoke(self, what: str | Combination) -> Vocabulary:
        """This vocabulary without a value or a combination: "cube", "blue spheres", "small metal things"."""
        combination = self.parse_combination(what) if isinstance(what, str) else what
        smaller = replace(self, revoked=(*self.revoked, combination))
        if not smaller.combinations():
            raise InputError(f"revoking {what!r} leaves no object; revoke less")
        return smaller

    def introduce(self, card: ShapeCard) -> Vocabulary:
        """This vocabulary with one more shape; InputError if one of its words already means something else."""
        if card.name in self.shapes:
            raise InputError(f"shape {card.name!r} is already in the vocabulary ({', '.join(self.shapes)})")
        if card.outline not in OUTLINES:
            raise unknown("outline", card.outline, OUTLINES)
        words = self.words()
        taken = [word for word in dict.fromkeys(card.words) if word in words]
        if taken:
            meanings = ", ".join(f"{word!r} means {words[word][1] or 'anything'}" for word in taken)
            raise InputError(
                f"shape {card.name!r} has words that the vocabulary already has ({meanings}); a question or revoke "
                "would silently mean the new shape: give the card another name, plural or nouns"
            )
        return replace(self, shapes=(*self.shapes, card.name), cards=(*self.cards, card))

    def with_cards(self, cards: Iterable[ShapeCard]) -> Vocabulary:
        """This vocabulary with the shapes that it lacks by name, to read and render scenes: words may repeat."""
        new = {card.name: card for card in cards if card.name not in self.shapes}
        return replace(self, shapes=(*self.shapes, *new), cards=(*self.cards, *new.values()))

    def parse_combination(self, text: str) -> Combination:
        """("color", "blue"), ("shape", "sphere") for "blue spheres"; InputError names an unknown word."""
        words = self.words()
        pairs: list[tuple[str, str]] = []
        for word in text.lower().replace(",", " ").split():
            if word not in words:
                raise unknown("word", word, sorted(words), f"(in revoke {text!r})")
            attribute, value = words[word]
            if attribute and attribute in dict(pairs):
                raise InputError(f"revoke {text!r} names two values of {attribute}; revoke them one by one")
            if attribute:
                pairs.append((attribute, value))
        if not pairs:
            raise InputError(
                f"revoke {text!r} names no value of an attribute; write e.g. 'cube' or 'small metal things'"
            )
        return tuple(sorted(pairs, key=lambda pair: ATTRIBUTES.index(pair[0])))

    def words(self) -> dict[str, tuple[str, str]]:
        """Every word of this vocabulary (synonyms, plurals) with its (attribute, value); ("", "") for thing, object."""
        found = {word: ("", "") for noun in SYNONYMS["thing"] for word in (noun, noun + "s")}
        for attribute in ATTRIBUTES[1:]:
            for value in self.values(attribute):
                found |= dict.fromkeys(SYNONYMS.get(value, (value,)), (attribute, value))
        for card in self.cards:
            found |= dict.fromkeys(card.words, ("shape", card.name))
        return found


def _builtin(name: str) -> ShapeCard:
    return ShapeCard(name, name + "s", name, f"{name}.obj", SYNONYMS.get(name, (name,)))


CONE = _builtin("cone")
CLEVR = Vocabulary(
    shapes=("cube", "sphere", "cylinder"),
    sizes=tuple(RADIUS),
    colors=tuple(RGB),
    materials=MATERIALS,
    cards=tuple(_builtin(name) for name in ("cube", "sphere", "cylinder")),
)
