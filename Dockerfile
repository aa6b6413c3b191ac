# trex in a container, with Blender and the shipped models.
#
#   docker build -t trex .                              without CUDA
#   docker build -t trex-cuda --build-arg TORCH=cuda .  with CUDA: some 4 GB more
#   docker run --rm -v "$PWD/runs:/home/trex/runs" trex find demo
#   docker run --rm --gpus all -v "$PWD/runs:/home/trex/runs" trex-cuda find demo
#
# The user `trex` has the number 1000; a mounted folder must be writable for it.
FROM python:3.13-slim-trixie AS libraries

# Libraries that bpy links (trex/doctor/preflight.py).
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        libegl1 libgl1 libice6 libsm6 libxfixes3 libxi6 libxkbcommon0 libxrender1 libxt6 \
    && rm -rf /var/lib/apt/lists/*

# For work on trex itself (.devcontainer/devcontainer.json): no trex inside, the checkout is mounted.
FROM libraries AS developer
RUN apt-get update \
    && apt-get install -y --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 --shell /bin/bash developer
USER developer

FROM libraries
ARG TORCH=cpu
WORKDIR /opt/trex
COPY constraints.txt ./
RUN if [ "$TORCH" = cpu ]; then \
        pip install --no-cache-dir -c constraints.txt torch --index-url https://download.pytorch.org/whl/cpu; \
    fi
COPY . .
RUN pip install --no-cache-dir -c constraints.txt '.[arviz,export,farm,onnx,saliency]' ./worlds \
    && rm -rf build worlds/build

RUN useradd --create-home --uid 1000 trex && mkdir /home/trex/runs && chown trex:trex /home/trex/runs
USER trex
WORKDIR /home/trex
# What the NVIDIA container runtime lets in: CUDA, and the driver's part of OptiX.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,graphics,utility
ENTRYPOINT ["trex"]
CMD ["--help"]
