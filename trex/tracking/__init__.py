"""A finished run logged with an experiment tracker: its settings, figures, chains and page, once for each run."""
