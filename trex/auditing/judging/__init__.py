"""Steps 3 and 4 of an audit: the families in scenes that no rule was made from, and at the deciding look."""
