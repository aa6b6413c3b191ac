"""`python -m trex` is the command `trex`."""

from trex.cli.app import app

if __name__ == "__main__":
    app(prog_name="trex")
