"""The environment of render processes: what Blender, its drivers and Python read, and no key, token or password.

A render process reads scenes, shapes and .blend files that may come from others, and needs no secret. Names are
allowed, not refused: no pattern knows every secret ("DATABASE_URL", a proxy with a password).
"""

from __future__ import annotations

import os
import re

NAMES = {
    "HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "TEMP", "TMP", "DISPLAY",
    "WAYLAND_DISPLAY", "XAUTHORITY", "OCIO", "VIRTUAL_ENV", "CONDA_PREFIX", "SOURCE_DATE_EPOCH",
}  # fmt: skip
PREFIXES = (
    # the system, Python, ours
    "LC_", "LD_", "DYLD_", "XDG_", "GLIBC_", "MALLOC_", "TCMALLOC_", "PYTHON", "COVERAGE_", "TREX_",
    # Blender and its libraries
    "BLENDER", "CYCLES_", "EMBREE_", "OIDN_", "OIIO_", "OPENIMAGEIO_", "USD_", "PXR_", "TBB_",
    # drivers: NVIDIA, AMD, Intel, Mesa, Apple
    "CUDA_", "NVIDIA_", "NV_", "__NV", "__GL", "__EGL", "__VK", "OPTIX", "HIP_", "HSA_", "ROCR_", "ROCM_", "AMD_",
    "GPU_", "ONEAPI_", "SYCL_", "ZE_", "ZES_", "IGC_", "INTEL_", "OCL_", "LIBVA_", "LIBGL_", "MESA_", "GALLIUM_",
    "EGL_", "GBM_", "VK_", "DRI_", "MTL_", "METAL_",
    # threads of numerical libraries
    "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "NUMEXPR_",
)  # fmt: skip
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH(?!ORITY)|COOKIE|PRIVATE", re.IGNORECASE)


def render_environment() -> dict[str, str]:
    """This process's environment, as far as a render process may see it."""
    return {name: value for name, value in os.environ.items() if _is_needed(name)}


def _is_needed(name: str) -> bool:
    return name in NAMES or (name.startswith(PREFIXES) and not SECRET.search(name))
