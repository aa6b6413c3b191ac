"""How a spec begins, for the forms whose room and adapter both need it."""

HF = "hf:"
IEP = "iep:"
ONNX = "onnx:"
