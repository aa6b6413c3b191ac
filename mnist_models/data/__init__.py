"""MNIST and Fashion-MNIST: published files, the idx format, labelled pictures and the classes to train on."""
