"""CNNs from files: ONNX, Keras, PyTorch modules and layer tables."""
