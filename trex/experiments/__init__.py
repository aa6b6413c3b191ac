"""A set of queries with the values published for them: carried out, tabulated, drawn."""
