"""Files, texts and code of others."""
