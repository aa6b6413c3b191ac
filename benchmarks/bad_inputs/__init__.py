"""Inputs that a slip, a fault or an attacker makes: does each end in one clear line?

Run it: `python -m benchmarks.bad_inputs`.
`cases.py` says what an input is, `runner.py` carries one out and says what clear means; the others make inputs.
"""
