"""How level sets of a classifier are searched: targets, kernels, samplers, importance sampling, diagnostics."""
