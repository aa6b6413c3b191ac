"""One file for each command or group of commands of `trex`, in a room for each box of `trex --help`.

Nothing lists them: every module here and in the rooms that declares a COMMAND is one (`trex.cli.command`).
"""
