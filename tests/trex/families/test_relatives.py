"""Families of found latents: relatives are joined, independent latents are not, whatever the order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.running.runs import run
from trex.families.relatives import (
    Families,
    Responsible,
    distinct_words,
    family_count_words,
    group,
)
from trex.scenes.conditions import FULLY, Condition, has
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import ATTRIBUTES, Scene
from trex.scenes.vocabulary import CLEVR
from trex.search.judging.headline import headline
from trex.worlds.description import Noun
from trex.worlds.latents import Latent
from trex.worlds.shipped.clevr import SCENE

SEED = 20_262
NO_CUBES = ScenePrior(CLEVR.revoke("cube"), (5, 5))


def drawn(n: int, seed: int = SEED) -> list[Scene]:
    rng = np.random.default_rng(seed)
    return [NO_CUBES.sample(rng) for _ in range(n)]


def with_first(scene: Scene, other: Scene) -> Scene:
    """The scene with its first object replaced by the other's, and listed last."""
    return replace(scene, objects=(*scene.objects[1:], other.objects[0]))


class Member(NamedTuple):
    """A hit: its latent, its chain or prior draw, where that started, and the objects responsible."""

    z: Latent
    source: tuple[str, int]
    origin: int
    cause: frozenset[Responsible] = frozenset()


def grouped(members: Sequence[Member], noun: Noun = SCENE) -> Families:
    zs, sources, origins, causes = zip(*members, strict=True) if members else ((), (), (), ())
    return group(zs, sources, origins, causes, noun)


def member(scene: Scene, chain: int, origin: int, *objects: Responsible) -> Member:
    return Member(scene, ("chain", chain), origin, frozenset(objects))


def looking(*category: str, counting: Sequence[str] = ATTRIBUTES, seen: str = FULLY) -> Responsible:
    """An object of this shape, size, color and material, of which these attributes count."""
    looks = frozenset([*map(has, ATTRIBUTES, category), Condition(seen, "seen", seen)])
    return Responsible(
        looks, frozenset(look for look in looks if look.part == "seen" or look.key.split()[0] in counting)
    )


COUNTING = ("shape", "size", "material")
SPHERE = looking("sphere", "small", "red", "metal", counting=COUNTING)
HIDDEN = looking(
    "sphere", "small", "red", "metal", counting=COUNTING, seen="partly hidden by a large cylinder"
)
CYLINDER = looking("cylinder", "large", "gray", "rubber")


def partition(members: Sequence[Member], families: Families) -> set[frozenset[int]]:
    """Families as sets of members, however they are numbered."""
    found: dict[int, set[int]] = {}
    for member, number in zip(members, families.numbers, strict=True):
        found.setdefault(number, set()).add(id(member))
    return {frozenset(part) for part in found.values()}


def test_a_chain_that_keeps_one_object_while_the_others_move_is_one_family() -> None:
    first, *others = drawn(6)
    members = [member(with_first(scene, first), 0, 7) for scene in others]
    found = grouped([member(first, 0, 7), *members])
    assert found.numbers == (1,) * 6
    assert (found.count, found.source_count, found.known[0].size) == (1, 1, 6)


def test_a_chain_and_the_prior_draw_it_began_at_are_one_origin() -> None:
    first, other = drawn(2)
    prior = Member(first, ("prior", 7), 7)
    found = grouped([prior, member(with_first(other, first), 0, 7)])
    assert (found.count, found.source_count) == (1, 2)


def test_one_shared_object_joins_no_scenes_of_different_origins() -> None:
    first, other = drawn(2)
    found = grouped([member(first, 0, 7), member(with_first(other, first), 1, 8)])
    assert (found.count, max(found.clusters)) == (2, 2)


def test_half_of_the_objects_join_scenes_whatever_their_origin() -> None:
    first, other = drawn(2)
    alike = replace(other, objects=(*other.objects[:2], *first.objects[2:]))
    assert grouped([member(first, 0, 7), member(alike, 1, 8)]).count == 1


def test_scenes_are_one_family_if_the_same_is_responsible_in_the_same_view() -> None:
    scenes = drawn(6)
    blue = looking("sphere", "small", "blue", "metal", counting=COUNTING)  # its color does not count
    causes = [(SPHERE,), (blue,), (HIDDEN,), (CYLINDER,), (SPHERE, CYLINDER), (CYLINDER, blue)]
    members = [
        member(scene, k, k, *cause) for k, (scene, cause) in enumerate(zip(scenes, causes, strict=True))
    ]
    assert grouped(members).numbers == (1, 1, 2, 3, 4, 4)


def test_relatives_in_which_different_objects_are_responsible_are_two_families_of_one_cluster() -> None:
    first, other = drawn(2)
    found = grouped([member(first, 0, 7, SPHERE), member(with_first(other, first), 0, 7, CYLINDER)])
    assert (found.count, max(found.clusters)) == (2, 1)


def test_a_scene_without_explanation_joins_the_one_family_that_it_is_related_to() -> None:
    first, second, third, fourth = drawn(4)
    near, torn = with_first(second, first), replace(third, objects=(*third.objects[:3], *first.objects[:1]))
    torn = replace(torn, objects=(*torn.objects, fourth.objects[1]))
    explained = [member(first, 0, 7, SPHERE), member(fourth, 0, 7, CYLINDER)]
    assert grouped([*explained, member(near, 0, 7)]).numbers == (1, 2, 1)
    assert grouped([*explained, member(torn, 0, 7)]).numbers == (1, 2, 3)  # related to both
    beyond = replace(
        third, objects=(*third.objects[:4], second.objects[2])
    )  # of the chain, but only like `near`
    assert grouped([*explained, member(near, 0, 7), member(beyond, 0, 7)]).numbers == (1, 2, 1, 1)


def test_independent_scenes_are_not_joined_and_would_be_by_one_object_in_common() -> None:
    scenes = drawn(60)
    apart = grouped([member(scene, k, k) for k, scene in enumerate(scenes)])
    assert apart.count == 60
    planted_bug = grouped([member(scene, k, 0) for k, scene in enumerate(scenes)])  # as if of one chain
    assert planted_bug.count < 60


def test_scenes_of_one_chain_without_a_common_object_are_two_families_of_one_cluster() -> None:
    scene, other = drawn(2)
    found = grouped([member(scene, 0, 7), member(other, 0, 7)])
    assert (found.count, max(found.clusters)) == (2, 1)


@pytest.mark.parametrize("seed", range(8))
def test_families_do_not_depend_on_the_order_of_scenes_or_objects(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scenes = drawn(4, seed)
    causes: list[tuple[Responsible, ...]] = [(), (), (SPHERE,), (CYLINDER,), (), (HIDDEN, CYLINDER)]
    members = [
        member(with_first(s, scenes[k % 2]), k % 3, k % 3, *causes[int(rng.integers(6))])
        for k, s in enumerate([*scenes, *drawn(6, seed + 100)])
    ]
    before = partition(members, grouped(members))
    shuffled = [members[k] for k in rng.permutation(len(members))]
    assert partition(shuffled, grouped(shuffled)) == before
    turned = [
        member._replace(z=replace(member.z, objects=tuple(member.z.objects[k] for k in rng.permutation(5))))
        for member in members
        if isinstance(member.z, Scene)
    ]
    assert grouped(turned) == grouped(members)


def test_vectors_of_one_chain_are_joined_step_by_step_and_others_are_not() -> None:
    steps = [np.array([0.8 * k, 0.0]) for k in range(5)]
    far = np.array([0.0, 0.9])
    members = [Member(z, ("chain", 0), 3) for z in steps] + [Member(far, ("chain", 1), 4)]
    assert grouped(members).numbers == (1, 1, 1, 1, 1, 2)


def test_variations_of_one_scene_are_never_counted_as_findings() -> None:
    (scene,) = drawn(1)
    relatives = [member(with_first(other, scene), 0, 7) for other in drawn(9, SEED + 1)]
    families = grouped(relatives)
    assert families.count == 1
    assert distinct_words(SCENE, 9, families) == "9 variations of one scene"
    alone = grouped([member(other, k, k) for k, other in enumerate(drawn(9, SEED + 1))])
    assert distinct_words(SCENE, 9, alone) == "9 distinct scenes in at most 9 families"
    assert distinct_words(SCENE, 1, grouped(relatives[:1])) == "1 distinct scene"


def test_a_family_of_each_scene_alone_is_noticed() -> None:
    """Planted: no relation joins anything, so that every variation is a finding of its own."""
    (scene,) = drawn(1)
    relatives = [member(with_first(other, scene), 0, 7) for other in drawn(9, SEED + 1)]
    assert grouped([relative._replace(origin=k) for k, relative in enumerate(relatives)]).count == 9


def test_no_latents_are_no_families() -> None:
    assert (grouped([]).count, grouped([]).source_count) == (0, 0)


def test_the_headline_the_findings_and_the_page_count_the_same_families(tmp_path: Path) -> None:
    done = run(tmp_path, ["search.steps=60"])
    families = done.results.families
    assert len(done.results.found) > families.count >= 1
    says = headline(done.manifest, done.results)
    assert distinct_words(SCENE, len(done.results.found), families) in says
    data = json.loads((done.folder / "findings.json").read_text())
    assert (data["families"], data["sources"]) == (families.count, families.source_count)
    assert [scene["family"] for scene in data["found"]] == list(families.numbers)
    assert [item["scenes"] for item in data["family_list"]] == [family.size for family in families.known]
    assert sum(item["share_of_hits"] for item in data["family_list"]) == pytest.approx(1.0)
    for family in families.known:
        numbers = [families.numbers[place] for place in family.members]
        assert numbers == [family.number] * family.size
        assert family.representative == min(family.members)  # hits are sorted by confidence
    page = done.report.read_text(encoding="utf-8")
    assert says in page and f"{family_count_words(families)}, from ".strip() in page


def test_objects_are_alike_if_they_agree_in_all_that_counts_in_either() -> None:
    red = looking("sphere", "small", "red", "metal", counting=("shape", "size"))
    blue = ("sphere", "small", "blue", "metal")
    assert red.is_like(looking(*blue, counting=("shape",))) and looking(*blue, counting=("shape",)).is_like(
        red
    )
    assert not red.is_like(looking(*blue, counting=("shape", "color")))
    assert not looking("sphere", "small", "red", "metal", counting=("color",)).is_like(
        looking(*blue, counting=())
    )
    assert not red.is_like(looking(*blue, counting=("shape",), seen="partly hidden"))


def test_the_pattern_of_an_explained_family_holds_for_every_member() -> None:
    """What counts in any of its scenes is named if it has one value in all of them."""
    zs, partly = drawn(3), "partly hidden by a large cylinder"
    metal = looking("sphere", "small", "red", "metal", counting=("shape", "size"), seen=partly)
    rubber = looking("sphere", "small", "blue", "rubber", counting=("shape", "size"), seen=partly)
    both = grouped([member(zs[0], 0, 0), member(zs[1], 1, 1, metal), member(zs[2], 2, 2, rubber)])
    assert [family.words for family in both.known] == [
        "one scene by itself, not explained",
        "a small sphere partly hidden by a large cylinder",
    ]
    cube = looking("cube", "large", "gray", "rubber")
    assert grouped([member(zs[0], 0, 0, metal, cube)]).known[0].words == (
        "a large gray rubber cube in full view and a small sphere partly hidden by a large cylinder"
    )


def test_unexplained_scenes_are_named_by_an_object_that_all_of_them_hold() -> None:
    first, *others = drawn(4)
    scene_object = first.objects[2]
    alike = [first, *(replace(z, objects=(*z.objects[:4], scene_object)) for z in others)]
    (family,) = grouped([member(z, 0, 7) for z in alike]).known
    assert (
        family.words
        == f"scenes around a {scene_object.size} {scene_object.color} {scene_object.material} {scene_object.shape}"
    )
    digits = [Member(z, ("chain", 0), 3) for z in (np.zeros(3), np.full(3, 0.1))]
    assert grouped(digits, Noun("digit", "digits")).known[0].words == "digits close to each other"
