"""CLEVR's own sizes, colors and materials (clevr-dataset-gen, properties.json): no scene has any others."""

RADIUS = {"large": 0.7, "small": 0.35}  # Blender units
RGB = {  # 0-255
    "gray": (87, 87, 87),
    "red": (173, 35, 35),
    "blue": (42, 75, 215),
    "green": (29, 105, 20),
    "brown": (129, 74, 25),
    "purple": (129, 38, 192),
    "cyan": (41, 208, 208),
    "yellow": (255, 238, 51),
}
MATERIALS = ("rubber", "metal")
WORDS = {"size": tuple(RADIUS), "color": tuple(RGB), "material": MATERIALS}
