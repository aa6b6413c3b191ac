"""ArviZ on a run of scenes."""

# %%
import arviz as az

import trex

run = trex.find(
    question="How many red things are there?", answer="2", model="fake", preset="fake", explain=False,
    objects=(3, 6), prior_scenes=20, steps=40,
)  # fmt: skip

# %%
table = az.summary(run.draws)
az.plot_trace(run.draws, var_names=["confidence"])
print(table.loc["confidence"], az.ess(run.draws)["confidence"], az.rhat(run.draws)["confidence"])
assert float(table.loc["confidence", "mean"]) > 0
assert run.draws["categories"]["color"].shape[-1] == 6
