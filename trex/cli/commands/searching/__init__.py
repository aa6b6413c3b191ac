"""Commands on one query: search for it, resume the run, check the query, report the run."""
