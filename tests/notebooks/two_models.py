"""Two models compared: in a data frame, and by paired tests."""

# %%
import numpy as np

import trex


def shy(pictures, question):  # (B, H, W, 3) to (B, 28): never sure
    return np.full((len(pictures), 28), 1 / 28)


asked = {
    "question": "How many red things are there?",
    "answer": "2",
    "preset": "fake",
    "bank": 0,
    "explain": False,
}
runs = [
    trex.find(**asked, model=model, target="threshold", threshold=0.3, prior_scenes=60, steps=0)
    for model in ("fake", shy)
]

# %%
frame = trex.frame(runs)
rates = frame[frame.phase == "prior"].groupby("model").is_hit.mean()
print(rates)
assert rates["fake"] > 0 == rates[rates.index != "fake"].item()
assert trex.compare(runs).tests
