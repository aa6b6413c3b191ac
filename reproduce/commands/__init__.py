"""The commands of `python -m reproduce`, each a function with typer's annotations."""
