"""Models in Python, in ONNX files and of transformers."""
