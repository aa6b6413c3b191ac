"""What tests compare the code with: references written apart from it, and the statistics of the comparison.

The IEP and relation networks and the question programs stand here a second time, written plainly from their
sources; beside them the exact rank test of a sampler, the false-alarm rate of a statistical test, random scenes,
and the files of others: CLEVR's own, and tiny ONNX files. A reference shares no code with what it is compared with.
"""
