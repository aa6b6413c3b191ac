"""Own proposal, as a user of emcee writes a move."""

# %%
from itertools import pairwise

import numpy as np

import trex


def one_coordinate(rng, z):  # symmetric, so its density cancels
    step = np.zeros_like(z)
    step[rng.integers(z.size)] = rng.standard_normal()
    return z + step


run = trex.find(
    world="mnist-vae", answer="3", target="threshold", threshold=0.99, proposal=one_coordinate,
    prior_scenes=100, steps=60, further=0,
)  # fmt: skip

# %%
zs = [r.z for r in run.records if r.phase == "chain" and r.chain == 0]
assert all(np.count_nonzero(b - a) <= 2 for a, b in pairwise(zs))
