"""The verbs, each once, for Python and the command line: a file for each; `verb.py` makes both from its options.

`shell` is what only the command line needs: the app, errors and exit codes, streams, how results are printed.
"""
