"""What only the command line needs: the app, shared options, errors and exit codes, how results are printed."""
