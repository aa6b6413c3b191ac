"""Tests, in the folders of what they test; `worlds` holds small worlds and other helpers."""
