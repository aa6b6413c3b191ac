"""CLEVR's scenes narrowed by a predicate, and a renderer of one's own for them."""

# %%
import numpy as np

import trex
from trex.scenes.properties import RGB


def stripes(scene):  # one picture (H, W, 3), a stripe for each object
    return (
        np.array([RGB[item.color] for item in scene.objects], np.uint8)[None]
        .repeat(8, axis=0)
        .repeat(3, axis=1)
    )


def no_red(scene):
    return all(item.color != "red" for item in scene.objects)


world = trex.World(prior=trex.ScenePrior(n_objects=(4, 4)).where(no_red), render=stripes)
run = trex.find(
    world=world, question="How many red things are there?", answer="3", model="fake",
    target="threshold", threshold=0.001, prior_scenes=40, steps=20, explain=False,
)  # fmt: skip

# %%
assert run.hits and all(no_red(hit.scene) and hit.truth == "0" for hit in run.hits)
assert run.hits[0].picture.size == (12, 8)
