"""The shipped CLEVR model: its network, soft program execution, training, calibration and evaluation."""
