"""Commands on what searches need: models, data sets, banks, rendered pictures, and the cache."""
