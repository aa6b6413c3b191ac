"""Own generator function, own classifier function, and what explains its mistakes."""

# %%
import numpy as np

import trex

y, x = np.mgrid[:24, :24] / 23.0 - 0.5


def draw(shape):  # one picture (H, W, 3), 0 to 1
    far = np.hypot(x, y) if shape["kind"] == "disk" else np.maximum(abs(x), abs(y))
    return np.where(far < shape["radius"], shape["gray"], 1.0)[..., None].repeat(3, axis=2)


def classify(pictures, question):  # (B, H, W, 3) to (B, 2): believes that what covers much is a square
    covered = (pictures.mean(axis=3) < 0.95).mean(axis=(1, 2))
    return np.stack([covered < 0.4, covered >= 0.4], axis=1) * 0.98 + 0.01


# %%
world = trex.World(
    prior={"kind": ["disk", "square"], "radius": (0.1, 0.45), "gray": (0.0, 0.8)},
    render=draw,
    answer=lambda shape: shape["kind"],
    answers=["disk", "square"],
)
run = trex.find(world=world, model=classify, answer="square", wrong=True)
(explanation, *_) = run.explain()
print(run.summary(), explanation)

# %%
assert run.hits[0].truth == "disk" and run.hits[0].is_wrong
changes = " ".join(explanation.responsible)
assert "radius to 0.275" in changes and "gray" not in changes
