"""Step 5 of an audit: its page, its JSON document and its test cases. Reads findings, and judges nothing."""
