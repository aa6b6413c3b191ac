"""Captum on a found digit: own torch module, attribution of its mistake."""

# %%
import numpy as np
import torch
from captum.attr import IntegratedGradients

import trex

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
model[1].weight.data *= 20  # sure of something, but untrained
run = trex.find(
    world="mnist-vae", model=model, answer="7", target="threshold", threshold=0.3, prior_scenes=60, steps=20
)

# %%
picture = torch.tensor(np.asarray(run.hits[0].picture) / 255.0, dtype=torch.float32)[None, None]
effect = IntegratedGradients(model).attribute(picture, target=7)
assert effect.shape == picture.shape and float(effect.abs().sum()) > 0
