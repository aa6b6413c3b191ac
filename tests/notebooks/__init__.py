"""Short notebooks as users of other libraries would write them; `test_notebooks.py` runs each."""
