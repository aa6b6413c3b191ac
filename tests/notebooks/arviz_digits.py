"""ArviZ on a run of digits."""

# %%
import arviz as az

import trex

run = trex.find(
    world="mnist-vae", answer="3", target="threshold", threshold=0.999, further=0, prior_scenes=50, steps=100
)

# %%
table = az.summary(run.draws, var_names=["z", "confidence"])
az.plot_trace(run.draws, var_names=["z"])
assert len(table) == run.draws["posterior"].z.shape[-1] + 1
assert az.ess(run.draws, var_names=["z"])["z"].min() > 1
assert az.rhat(run.draws, var_names=["z"])["z"].max() < 5
