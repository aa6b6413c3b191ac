"""A repair's report: its sentences, its figures, and one page and JSON file of all finished steps."""
