"""Where hits come from: relatives are one cluster, independent latents are not, whatever the order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.running.runs import run
from trex.families.family import Family
from trex.families.lineage import NO_FAMILY, Families, distinct_words, group
from trex.families.pattern import Pattern
from trex.families.symptom import RESPONSIBLE
from trex.scenes.distinct import in_common, sharing_half
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
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
    """A hit: its latent, its chain or prior draw, and where that started."""

    z: Latent
    source: tuple[str, int]
    origin: int


def grouped(members: Sequence[Member], noun: Noun = SCENE, known: Sequence[Family] | None = None) -> Families:
    zs, sources, origins = zip(*members, strict=True) if members else ((), (), ())
    return group(zs, sources, origins, noun, known)


def member(scene: Scene, chain: int, origin: int) -> Member:
    return Member(scene, ("chain", chain), origin)


def partition(members: Sequence[Member], families: Families) -> set[frozenset[int]]:
    """Clusters as sets of members, however they are numbered."""
    found: dict[int, set[int]] = {}
    for member, number in zip(members, families.clusters, strict=True):
        found.setdefault(number, set()).add(id(member))
    return {frozenset(part) for part in found.values()}


def test_a_chain_and_the_prior_draw_it_began_at_are_one_origin() -> None:
    first, other = drawn(2)
    found = grouped([Member(first, ("prior", 7), 7), member(other, 0, 7)])
    assert (found.cluster_count, found.source_count) == (1, 2)


def test_one_shared_object_joins_no_scenes_of_different_origins() -> None:
    first, other = drawn(2)
    assert grouped([member(first, 0, 7), member(with_first(other, first), 1, 8)]).cluster_count == 2


def test_half_of_the_objects_join_scenes_whatever_their_origin() -> None:
    first, other = drawn(2)
    alike = replace(other, objects=(*other.objects[:2], *first.objects[2:]))
    assert grouped([member(first, 0, 7), member(alike, 1, 8)]).cluster_count == 1


def test_independent_scenes_are_not_joined() -> None:
    scenes = drawn(60)
    assert grouped([member(scene, k, k) for k, scene in enumerate(scenes)]).cluster_count == 60
    planted_bug = grouped([member(scene, k, 0) for k, scene in enumerate(scenes)])  # as if of one chain
    assert planted_bug.cluster_count == 1


def test_pairs_that_share_half_are_those_of_every_two_scenes_compared() -> None:
    """Also where scenes repeat a kind of object, and have unequal numbers of them or none."""
    rng, objects = np.random.default_rng(SEED), [item for scene in drawn(2) for item in scene.objects]
    scenes = [
        replace(drawn(1)[0], objects=tuple(objects[k] for k in rng.integers(6, size=size)))
        for size in rng.integers(0, 7, size=60)
    ]
    shared = {(i, j): in_common(scenes[i], scenes[j]) for i, j in combinations(range(60), 2)}
    most = {(i, j): max(len(scenes[i].objects), len(scenes[j].objects)) for i, j in shared}
    half = [pair for pair, n in shared.items() if n >= max(1, most[pair] / 2)]
    assert sharing_half(scenes) == half and 100 < len(half) < 1600


@pytest.mark.parametrize("seed", range(8))
def test_clusters_do_not_depend_on_the_order_of_scenes_or_objects(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scenes = drawn(4, seed)
    members = [
        member(with_first(s, scenes[k % 2]), k % 5, k % 5)
        for k, s in enumerate([*scenes, *drawn(6, seed + 100)])
    ]
    before = partition(members, grouped(members))
    shuffled = [members[k] for k in rng.permutation(len(members))]
    assert partition(shuffled, grouped(shuffled)) == before
    turned = [
        each._replace(z=replace(each.z, objects=tuple(each.z.objects[k] for k in rng.permutation(5))))
        for each in members
        if isinstance(each.z, Scene)
    ]
    assert grouped(turned) == grouped(members)


def test_vectors_of_one_chain_are_joined_step_by_step_and_others_are_not() -> None:
    steps = [np.array([0.8 * k, 0.0]) for k in range(5)]
    far = np.array([0.0, 0.9])
    members = [Member(z, ("chain", 0), 3) for z in steps] + [Member(far, ("chain", 1), 4)]
    found = grouped(members, Noun("digit", "digits"))
    assert found.numbers == (1, 1, 1, 1, 1, 2) and found.known[0].words == "digits close to each other"
    assert grouped(members, Noun("digit", "digits"), ()).known == (), "those that are known take their place"


def test_variations_of_one_scene_are_never_counted_as_findings() -> None:
    (scene,) = drawn(1)
    relatives = [member(with_first(other, scene), 0, 7) for other in drawn(9, SEED + 1)]
    assert distinct_words(SCENE, 9, grouped(relatives)) == "9 variations of one scene"
    alone = grouped([member(other, k, k) for k, other in enumerate(drawn(9, SEED + 1))])
    assert distinct_words(SCENE, 9, alone) == "9 distinct scenes"
    both = grouped([*relatives[:8], member(drawn(1, SEED + 2)[0], 1, 9)])
    assert distinct_words(SCENE, 9, both) == "9 distinct scenes from 2 independent starts"
    assert distinct_words(SCENE, 1, grouped(relatives[:1])) == "1 distinct scene"


def test_no_latents_are_no_families() -> None:
    assert (grouped([]).count, grouped([]).source_count) == (0, 0)


def test_hits_are_in_the_families_that_are_known_of_them_and_in_no_other() -> None:
    scenes = drawn(4)
    known = [Family(Pattern(), RESPONSIBLE, members=places) for places in ((0, 3), (2,))]
    found = grouped([member(scene, k, k) for k, scene in enumerate(scenes)], known=known)
    assert found.numbers == (1, NO_FAMILY, 2, 1) and [family.number for family in found.known] == [1, 2]
    assert found.of(1) is None and found.of(3) == found.known[0]


def test_the_headline_the_findings_and_the_page_count_the_same(tmp_path: Path) -> None:
    done = run(tmp_path, ["search.steps=60"])
    families = done.results.families
    says = headline(done.manifest, done.results)
    assert distinct_words(SCENE, len(done.results.found), families) in says
    data = json.loads((done.folder / "findings.json").read_text())
    assert (data["families"], data["sources"]) == (families.count, families.source_count)
    assert [scene["family"] for scene in data["found"]] == list(families.numbers)
    assert says in done.report.read_text(encoding="utf-8")
