"""Inputs that a slip, a fault or an attacker makes: does each end in one clear line?

Run it: `python -m benchmarks.bad_inputs`.
`cases.py` says what an input is, `verdict.py` what clear means, `runner.py` carries one out; the others make inputs.
"""
