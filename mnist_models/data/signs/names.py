"""The 43 classes of the German Traffic Sign Recognition Benchmark (Stallkamp et al. 2012), by number.

The benchmark numbers its classes; these are the English names in common use for them.
"""

from __future__ import annotations

NAMES = (
    "Speed limit (20km/h)",
    "Speed limit (30km/h)",
    "Speed limit (50km/h)",
    "Speed limit (60km/h)",
    "Speed limit (70km/h)",
    "Speed limit (80km/h)",
    "End of speed limit (80km/h)",
    "Speed limit (100km/h)",
    "Speed limit (120km/h)",
    "No passing",
    "No passing for vehicles over 3.5 metric tons",
    "Right-of-way at the next intersection",
    "Priority road",
    "Yield",
    "Stop",
    "No vehicles",
    "Vehicles over 3.5 metric tons prohibited",
    "No entry",
    "General caution",
    "Dangerous curve to the left",
    "Dangerous curve to the right",
    "Double curve",
    "Bumpy road",
    "Slippery road",
    "Road narrows on the right",
    "Road work",
    "Traffic signals",
    "Pedestrians",
    "Children crossing",
    "Bicycles crossing",
    "Beware of ice/snow",
    "Wild animals crossing",
    "End of all speed and passing limits",
    "Turn right ahead",
    "Turn left ahead",
    "Ahead only",
    "Go straight or right",
    "Go straight or left",
    "Keep right",
    "Keep left",
    "Roundabout mandatory",
    "End of no passing",
    "End of no passing by vehicles over 3.5 metric tons",
)

GROUPS = (  # the benchmark's own six subsets: title, class numbers
    ("Speed limits", (0, 1, 2, 3, 4, 5, 7, 8)),
    ("Other prohibitions", (9, 10, 15, 16)),
    ("Ends of restrictions", (6, 32, 41, 42)),
    ("Mandatory", (33, 34, 35, 36, 37, 38, 39, 40)),
    ("Danger", (11, *range(18, 32))),
    ("Priority, yield, stop, no entry", (12, 13, 14, 17)),
)
