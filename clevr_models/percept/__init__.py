"""The CLEVR model shipped here: its network, soft program execution, training, calibration and evaluation."""
