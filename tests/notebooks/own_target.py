"""Own target: a function of the answers' probabilities."""

# %%
import trex

torn = trex.Target(lambda p: abs(p["4"] - p["9"]) + abs(1 - p["4"] - p["9"]), at_most=0.2)
run = trex.find(world="mnist-vae", target=torn, prior_scenes=300, steps=100)

# %%
best = run.hits[0].probabilities
print(run, best)
assert abs(best["4"] - best["9"]) + abs(1 - best["4"] - best["9"]) <= 0.2
