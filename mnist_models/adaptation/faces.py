"""The type faces that come with matplotlib and have ten plain digits."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from PIL import ImageFont

from trex.foundation.errors import InputError
from trex.foundation.files import read_bytes

# By family. The licences permit use, embedding and redistribution: DejaVu is under Bitstream Vera's and Arev's
# (LICENSE_DEJAVU), STIX under the STIX font licence (LICENSE_STIX), Computer Modern (BaKoMa) under BaKoMa's, as
# matplotlib distributes them. No font is copied; only digits drawn with them become pictures.
FAMILIES = {
    "DejaVu Sans": (
        "DejaVuSans",
        "DejaVuSans-Bold",
        "DejaVuSans-Oblique",
        "DejaVuSans-BoldOblique",
    ),
    "DejaVu Sans Mono": (
        "DejaVuSansMono",
        "DejaVuSansMono-Bold",
        "DejaVuSansMono-Oblique",
        "DejaVuSansMono-BoldOblique",
    ),
    "DejaVu Serif": (
        "DejaVuSerif",
        "DejaVuSerif-Bold",
        "DejaVuSerif-Italic",
        "DejaVuSerif-BoldItalic",
    ),
    "STIX General": ("STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic", "STIXGeneralBolIta"),
    "Computer Modern": ("cmb10", "cmr10", "cmss10", "cmti10", "cmtt10"),
}
FACES = tuple(face for faces in FAMILIES.values() for face in faces)  # 21
FONT_LIMIT = 1 << 24  # bytes of a font file; the largest has 760 kB


def face_path(face: str) -> Path:
    """The file of a face in the installed matplotlib; InputError if this matplotlib does not have it."""
    import matplotlib

    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{face}.ttf"
    if not path.is_file():
        raise InputError(
            f"font {face} is not in the installed matplotlib ({path.parent}); install one that has it (3.9 to 3.11)"
        )
    return path


@cache
def font(face: str, size_px: int) -> ImageFont.FreeTypeFont:
    """The face at a size in pixels."""
    return ImageFont.truetype(str(face_path(face)), size_px, layout_engine=ImageFont.Layout.BASIC)


@cache
def fonts_hash() -> str:
    """sha256 of all faces and of the version of FreeType, which together decide the shapes that are drawn."""
    from PIL import features

    digest = hashlib.sha256(str(features.version("freetype2")).encode())
    for face in FACES:
        digest.update(read_bytes(face_path(face), limit=FONT_LIMIT))
    return digest.hexdigest()
