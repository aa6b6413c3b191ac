"""How tests carry out runs: the command line, quick queries, queues and farms, and processes that tests kill.

`runs` and `digit_runs` write queries that take a fraction of a second, `command_line` calls `trex` in the test's
own process, `farm_*` set up queues and workers, `kills` and `waiting` deal with other processes. Worlds that tests
bring themselves stand in `tests/worlds`.
"""
