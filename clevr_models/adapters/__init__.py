"""Models of the user's own behind one protocol: torch modules, callables, ONNX files, HTTP services."""
