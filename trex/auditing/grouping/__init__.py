"""Step 2 of an audit: the conditions that a rule may name, and the families that rules make. Nothing is judged here."""
