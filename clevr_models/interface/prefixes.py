"""How a spec begins, for the forms whose subpackage and adapter both need it."""

HF = "hf:"
IEP = "iep:"
ONNX = "onnx:"
