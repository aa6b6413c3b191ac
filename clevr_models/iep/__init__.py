"""The released models of Johnson et al. (2017): program generator, execution engine and baselines."""
