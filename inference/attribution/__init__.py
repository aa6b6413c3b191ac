"""Which parts of a latent an answer depends on: leave one out, joint blame, and smallest counterfactual changes."""
