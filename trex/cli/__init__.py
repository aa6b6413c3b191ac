"""The command line: the app, shared options, error messages and exit codes, how results are printed.

One file for each command is in `commands`. Nothing imports this room.
"""
