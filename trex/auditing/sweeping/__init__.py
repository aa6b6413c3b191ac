"""Step 1 of an audit: scenes, what was asked and answered about them, and the lines that keep it. No rule is made."""
