"""Adapters for user-defined models behind one protocol: torch modules, callables, ONNX files, HTTP services."""
