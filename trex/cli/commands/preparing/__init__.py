"""Commands on what searches need: models, data sets, rendered pictures, and the cache."""
