"""What the publications describe, run again with `trex`: beside the product and in no wheel, as `python -m reproduce`.

Queries with published values are in `queries`, run and tabulated by `experiments`, drawn by `sheet` and listed against
the publications by `paper`; their records are in `records`. `parity` compares our renderer and assets with CLEVR's,
`adaptation` is ADDA, `fid` judges decoders, and `datasets` reads what `trex` does not. LOG.md says what was measured.
"""

from pathlib import Path

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
