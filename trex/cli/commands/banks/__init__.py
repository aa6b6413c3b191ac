"""Commands on banks of rendered scenes."""

from trex.cli.commands.banks.bank import COMMAND

__all__ = ["COMMAND"]
