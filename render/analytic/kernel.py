"""The compiled part of the analytic look: rays, lights, and the terms whose weighted sum is a pixel's light.

All of it is in one file and takes its constants as arrays, because numba's disk cache knows of changes in a function's
own file alone. Arrays are float64; `stage.py` makes them:

- bodies (n, 14): kind, x, y, radius, cosine and sine of the rotation, color (3), is metal, first and last plane,
  squared radius of a sphere around the body, and of a larger one that contains its half shadows;
- planes (p, 4): normal and level of the faces of all bodies of kind `HULL`, in the body's own units;
- lights (4, 12): position, or for the last one, the sun, direction; is lamp; power; size; color (3); axis (3).

Terms of a pixel are linear in the weights that `fit.py` finds, so the same functions shade and fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]
Ids = NDArray[np.uint8]
Function = TypeVar("Function", bound=Callable[..., Any])

SPHERE, CYLINDER, CUBE, HULL = range(4)
GROUND, RUBBER, METAL = range(3)
ALL = (1 << 60) - 1  # every body
TERMS = (12, 18, 22)  # of ground, rubber, metal
LIGHTS = 4
SLOTS = 12  # bodies with bits of their own in a pixel of ground; more share them
BEVEL = 0.25  # radius of a cube's edges, in its own units (blender_assets/make_shapes.py)
RIM = 0.1  # the same of a cylinder
REACH = 3.0  # radii beyond which a body takes no light from a surface


def compiled(function: Function) -> Function:
    """Compile with numba, once for each version of this file; divisions by zero give inf or nan, as in numpy.

    Where neither the package's folder nor the user's cache can be written, each process compiles anew.
    """
    try:
        made = njit(cache=True, error_model="numpy", nogil=True)(function)
    except RuntimeError:  # numba finds no place for its cache
        made = njit(error_model="numpy", nogil=True)(function)
    return cast(Function, made)


Vec = tuple[float, float, float]


@compiled
def slab(p: float, d: float, enter: float, leave: float) -> tuple[float, float]:
    """The part of a ray between -1 and 1 along one axis."""
    if d == 0.0:
        return (enter, leave) if abs(p) <= 1.0 else (1.0, -1.0)
    near, far = (-1.0 - p) / d, (1.0 - p) / d
    if near > far:
        near, far = far, near
    return max(enter, near), min(leave, far)


@compiled
def span(bodies: Floats, planes: Floats, k: int, p: Vec, d: Vec) -> tuple[float, float]:
    """Where the ray p + t d, in body k's own units, enters and leaves it; it misses if it leaves before it enters."""
    px, py, pz = p
    dx, dy, dz = d
    kind = bodies[k, 0]
    enter, leave = -1e30, 1e30
    if kind in (SPHERE, CYLINDER):
        a, b, c = dx * dx + dy * dy, px * dx + py * dy, px * px + py * py - 1.0
        if kind == SPHERE:
            a, b, c = a + dz * dz, b + pz * dz, c + pz * pz
        square = b * b - a * c
        if square <= 0.0 or a == 0.0:
            return 1.0, -1.0
        root = math.sqrt(square)
        enter, leave = (-b - root) / a, (-b + root) / a
        if kind == CYLINDER:
            enter, leave = slab(pz, dz, enter, leave)
    elif kind == CUBE:
        enter, leave = slab(px, dx, enter, leave)
        enter, leave = slab(py, dy, enter, leave)
        enter, leave = slab(pz, dz, enter, leave)
    else:
        for f in range(int(bodies[k, 10]), int(bodies[k, 11])):
            speed = planes[f, 0] * dx + planes[f, 1] * dy + planes[f, 2] * dz
            above = planes[f, 3] - (planes[f, 0] * px + planes[f, 1] * py + planes[f, 2] * pz)
            if speed < 0.0:
                enter = max(enter, above / speed)
            elif speed > 0.0:
                leave = min(leave, above / speed)
            elif above < 0.0:
                return 1.0, -1.0
    return enter, leave


@compiled
def turned(bodies: Floats, k: int, v: Vec) -> Vec:
    """A direction in body k's own units."""
    cos, sin, radius = bodies[k, 4], bodies[k, 5], bodies[k, 3]
    return (cos * v[0] + sin * v[1]) / radius, (cos * v[1] - sin * v[0]) / radius, v[2] / radius


@compiled
def own(bodies: Floats, k: int, p: Vec) -> Vec:
    """A point in body k's own units; its center is one radius above the floor."""
    return turned(bodies, k, (p[0] - bodies[k, 1], p[1] - bodies[k, 2], p[2] - bodies[k, 3]))


@compiled
def normal(bodies: Floats, planes: Floats, k: int, q: Vec) -> Vec:
    """The unit normal in the world at a point of the surface, in own units; edges of cubes and cylinders are round."""
    x, y, z = q
    kind = bodies[k, 0]
    if kind == SPHERE:
        nx, ny, nz = x, y, z
    elif kind == CYLINDER:
        radius = math.sqrt(x * x + y * y)
        over = max(radius - (1.0 - RIM), 0.0) / max(radius, 1e-6)
        nx, ny, nz = x * over, y * over, z - min(max(z, RIM - 1.0), 1.0 - RIM)
    elif kind == CUBE:
        flat = 1.0 - BEVEL
        nx = x - min(max(x, -flat), flat)
        ny = y - min(max(y, -flat), flat)
        nz = z - min(max(z, -flat), flat)
    else:
        nx, ny, nz, most = 0.0, 0.0, 1.0, -1e30
        for f in range(int(bodies[k, 10]), int(bodies[k, 11])):
            above = planes[f, 0] * x + planes[f, 1] * y + planes[f, 2] * z - planes[f, 3]
            if above > most:
                nx, ny, nz, most = planes[f, 0], planes[f, 1], planes[f, 2], above
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    if length < 1e-9:
        return 0.0, 0.0, 1.0
    nx, ny, nz = nx / length, ny / length, nz / length
    return bodies[k, 4] * nx - bodies[k, 5] * ny, bodies[k, 5] * nx + bodies[k, 4] * ny, nz


@compiled
def passes(bodies: Floats, k: int, p: Vec, v: Vec, square: float) -> bool:
    """Whether the ray comes nearer to body k's center than the root of `square`."""
    dx, dy, dz = bodies[k, 1] - p[0], bodies[k, 2] - p[1], bodies[k, 3] - p[2]
    along = dx * v[0] + dy * v[1] + dz * v[2]
    apart = dx * dx + dy * dy + dz * dz
    if along <= 0.0:
        return bool(apart < square)
    return bool((apart - square) * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) < along * along)


@compiled
def first_hit(bodies: Floats, planes: Floats, skip: int, p: Vec, v: Vec, far: float) -> tuple[int, float]:
    """The body but `skip` that the ray p + t v meets first, with t below `far`; -1 if there is none."""
    found, at = -1, far
    for k in range(len(bodies)):
        if k != skip and passes(bodies, k, p, v, bodies[k, 12]):
            enter, leave = span(bodies, planes, k, own(bodies, k, p), turned(bodies, k, v))
            if enter <= leave and leave > 1e-3 and enter < at:
                found, at = k, enter
    return found, at


@compiled
def arriving(lights: Floats, light: int, p: Vec, n: Vec) -> tuple[float, Vec, float]:
    """Irradiance of a light at p if nothing is in its way, the unit direction to it, and the distance (0: the sun).

    A lamp is a small square that faces the origin: power / pi * cos * cos / distance^2.
    """
    if lights[light, 3] == 0.0:
        v = (lights[light, 0], lights[light, 1], lights[light, 2])
        return max(lights[light, 4] * (n[0] * v[0] + n[1] * v[1] + n[2] * v[2]), 0.0), v, 0.0
    x, y, z = lights[light, 0] - p[0], lights[light, 1] - p[1], lights[light, 2] - p[2]
    square = x * x + y * y + z * z
    distance = math.sqrt(square)
    v = (x / distance, y / distance, z / distance)
    here = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
    there = -(v[0] * lights[light, 9] + v[1] * lights[light, 10] + v[2] * lights[light, 11])
    if here <= 0.0 or there <= 0.0:
        return 0.0, v, distance
    return lights[light, 4] * here * there / square, v, distance


@compiled
def bit(body: int, light: int) -> int:
    """The bit of a body that may hide a light from a pixel of ground, or, with `LIGHTS` as light, of one nearby."""
    return body % SLOTS * (LIGHTS + 1) + light


@compiled
def unshadowed(
    bodies: Floats,
    planes: Floats,
    lights: Floats,
    light: int,
    skip: int,
    p: Vec,
    v: Vec,
    distance: float,
    bits: int,
) -> float:
    """The part of a light that reaches p: of four points of a lamp or of the sun, those that no body hides.

    bits: those of the bodies that may hide it.
    """
    far, length = (1.0, distance) if distance > 0.0 else (1e30, 1.0)
    x, y, z = v[0] * length, v[1] * length, v[2] * length
    level = math.sqrt(v[0] * v[0] + v[1] * v[1]) + 1e-9
    r = 0.3 * lights[light, 5]
    ux, uy = -v[1] / level * r, v[0] / level * r
    wx, wy, wz = -v[2] * v[0] / level * r, -v[2] * v[1] / level * r, level * r
    hidden = 0
    for k in range(len(bodies)):
        if k == skip or not bits >> bit(k, light) & 1 or not passes(bodies, k, p, v, bodies[k, 13]):
            continue
        q = own(bodies, k, p)
        for corner in range(4):
            if not hidden >> corner & 1:
                a = 1.0 if corner & 1 else -1.0
                b = 1.0 if corner & 2 else -1.0
                target = (x + a * ux + b * wx, y + a * uy + b * wy, z + b * wz)
                enter, leave = span(bodies, planes, k, q, turned(bodies, k, target))
                if enter <= leave and leave > 1e-3 and enter < far:
                    hidden |= 1 << corner
    return 1.0 - 0.25 * ((hidden & 1) + (hidden >> 1 & 1) + (hidden >> 2 & 1) + (hidden >> 3))


@compiled
def floor_light(lights: Floats, x: float, y: float, out: Floats) -> None:
    """What the bare floor sends up at (x, y), into `out` (3,): its light times 0.8 / pi, the diffuse gray."""
    out[:] = 0.0
    for light in range(LIGHTS):
        e, _, _ = arriving(lights, light, (x, y, 0.0), (0.0, 0.0, 1.0))
        for c in range(3):
            out[c] += e * lights[light, 6 + c] * (0.8 / math.pi)


@compiled
def nearby(bodies: Floats, skip: int, p: Vec, n: Vec, tint: Floats, bits: int) -> float:
    """How much of what p sees are bodies, about: form factors of spheres; `tint` (3,) is that times their colors.

    bits: those of the bodies that may be near.
    """
    tint[:] = 0.0
    total = 0.0
    for k in range(len(bodies)):
        if not bits >> bit(k, LIGHTS) & 1:
            continue
        dx, dy, dz = bodies[k, 1] - p[0], bodies[k, 2] - p[1], bodies[k, 3] - p[2]
        square, radius = dx * dx + dy * dy + dz * dz, bodies[k, 3]
        part = radius * radius / square
        if k == skip or part < 1.0 / (REACH * REACH):
            continue
        factor = (dx * n[0] + dy * n[1] + dz * n[2] + 0.5 * radius) / math.sqrt(square)
        if factor > 0.0:
            factor = min(factor, 1.0) * min(part, 1.0) * (1.0 - 1.0 / (REACH * REACH * part))
            total += factor
            for c in range(3):
                tint[c] += factor * bodies[k, 6 + c]
    return total


@compiled
def mirrored(
    bodies: Floats,
    planes: Floats,
    lights: Floats,
    k: int,
    p: Vec,
    r: Vec,
    ground: Floats,
    body: Floats,
    tint: Floats,
) -> float:
    """What body k mirrors along r: the floor's light into `ground`, a body's into `body`; 1 if neither, else 0."""
    ground[:] = 0.0
    body[:] = 0.0
    other, t = first_hit(bodies, planes, k, p, r, 1e30)
    if other >= 0:
        q = (p[0] + t * r[0], p[1] + t * r[1], p[2] + t * r[2])
        n = normal(bodies, planes, other, own(bodies, other, q))
        for c in range(3):
            body[c] = bodies[other, 6 + c] * (0.1 + 0.1 * n[2])
        for light in range(LIGHTS - 1):
            e, _, _ = arriving(lights, light, q, n)
            for c in range(3):
                body[c] += bodies[other, 6 + c] * e * lights[light, 6 + c] / math.pi
        return 0.0
    if r[2] >= -0.01:
        return 1.0
    x, y = p[0] - p[2] / r[2] * r[0], p[1] - p[2] / r[2] * r[1]
    floor_light(lights, x, y, ground)
    open_sky = 1.0 - min(nearby(bodies, -1, (x, y, 0.0), (0.0, 0.0, 1.0), tint, ALL), 1.0)
    for c in range(3):
        ground[c] *= open_sky
    return 0.0


@compiled
def ground_terms(lights: Floats, light: Floats, z: float, near: float, tint: Floats, terms: Floats) -> None:
    """The terms (12, 3) of a pixel of ground at height z, with what each light gives it."""
    for c in range(3):
        total = 0.0
        for k in range(LIGHTS):
            terms[k, c] = light[k] * lights[k, 6 + c]
            total += terms[k, c]
        terms[4, c], terms[5, c], terms[6, c] = 1.0, near, tint[c]
        terms[7, c], terms[8, c], terms[9, c] = z, z * z, max(0.0, 2.0 - z)
        terms[10, c], terms[11, c] = total * near, total * tint[c]


@compiled
def lobe(square: float, n_h: float, n_v: float) -> float:
    """GGX's distribution for a squared roughness, over 4 n.v."""
    down = n_h * n_h * (square - 1.0) + 1.0
    return square / (math.pi * down * down * 4.0 * n_v)


@compiled
def body_terms(
    bodies: Floats, planes: Floats, lights: Floats, k: int, p: Vec, v: Vec, terms: Floats, room: Floats
) -> None:
    """The terms (18 or 22, 3) of a pixel of body k: p is its point, v the unit direction to the camera."""
    terms[:] = 0.0
    n = normal(bodies, planes, k, own(bodies, k, p))
    n_v = min(max(n[0] * v[0] + n[1] * v[1] + n[2] * v[2], 0.02), 1.0)
    is_metal = bodies[k, 9] > 0.0
    for light in range(LIGHTS):
        e, d, distance = arriving(lights, light, p, n)
        if e <= 0.0:
            continue
        e *= unshadowed(bodies, planes, lights, light, k, p, d, distance, ALL)
        hx, hy, hz = d[0] + v[0], d[1] + v[1], d[2] + v[2]
        length = math.sqrt(hx * hx + hy * hy + hz * hz)
        n_h = min(max((n[0] * hx + n[1] * hy + n[2] * hz) / length, 0.0), 1.0)
        wide = 0.02 * lights[light, 5] * (1.0 if distance == 0.0 else 1.0 / 6.0)
        if is_metal:
            soft = lobe(0.04 + wide, n_h, n_v)
            sharp = min(lobe(0.0009 + wide, n_h, n_v) * e, 4.0)
        else:
            v_h = min(max((v[0] * hx + v[1] * hy + v[2] * hz) / length, 0.0), 1.0)
            soft = lobe(0.1225 + wide, n_h, n_v) * (0.02 + 0.98 * (1.0 - v_h) ** 5)
            sharp = 0.0
        for c in range(3):
            color, shine = bodies[k, 6 + c], lights[light, 6 + c]
            terms[light, c] = color * e * shine
            terms[4, c] += e * shine * soft * (color if is_metal else 1.0)
            terms[5, c] += color * shine * (sharp if is_metal else (1.0 - n_v) * e)
    ground, body, tint = room[0], room[1], room[2]
    near = nearby(bodies, k, p, n, tint, ALL)
    floor_light(lights, p[0], p[1], ground)
    below, height, edge = max(0.0, 0.5 - 0.5 * n[2]), 0.5 * p[2] / bodies[k, 3], (1.0 - n_v) ** 5
    r = (2.0 * n_v * n[0] - v[0], 2.0 * n_v * n[1] - v[1], 2.0 * n_v * n[2] - v[2])
    down = max(0.0, -r[2])
    for c in range(3):
        color = bodies[k, 6 + c]
        lit = color * ground[c]
        terms[6, c], terms[7, c], terms[8, c], terms[9, c] = (
            color,
            color * n[2],
            lit * below,
            lit * below * height,
        )
        terms[10, c], terms[11, c], terms[12, c], terms[13, c] = (
            color * near,
            color * tint[c],
            edge,
            color * height,
        )
        if is_metal:
            terms[14, c], terms[15, c] = color * r[2], color * r[2] * r[2]
            terms[16, c], terms[17, c], terms[18, c] = lit * down, color * height * down, lit
        else:
            terms[14, c], terms[15, c] = edge * ground[c], edge * color
            terms[16, c], terms[17, c] = color * (1.0 - n_v), lit
    if is_metal:
        up = mirrored(bodies, planes, lights, k, p, r, ground, body, tint)
        for c in range(3):
            color = bodies[k, 6 + c]
            terms[19, c], terms[20, c], terms[21, c] = color * ground[c], color * up, color * body[c]


@compiled
def cast_bodies(
    bodies: Floats,
    planes: Floats,
    windows: Ints,
    eye: Vec,
    basis: Floats,
    across: Floats,
    up: Floats,
    depth: Floats,
    ids: Ids,
) -> None:
    """Fill depth (h, w) and ids (h, w) with the nearest body of each pixel, i + 1 for body i."""
    for k in range(len(bodies)):
        p = own(bodies, k, eye)
        for i in range(windows[k, 0], windows[k, 1]):
            for j in range(windows[k, 2], windows[k, 3]):
                d = turned(bodies, k, heading(basis, across[j], up[i]))
                t, leave = span(bodies, planes, k, p, d)
                if t > leave or t <= 0.0 or t >= depth[i, j]:
                    continue
                if bodies[k, 0] == CUBE:
                    t = rounded(p, d, t)
                if t < depth[i, j]:
                    depth[i, j], ids[i, j] = t, k + 1


@compiled
def heading(basis: Floats, across: float, up: float) -> Vec:
    """The direction of a pixel's ray."""
    return (
        across * basis[0, 0] + up * basis[1, 0] - basis[2, 0],
        across * basis[0, 1] + up * basis[1, 1] - basis[2, 1],
        across * basis[0, 2] + up * basis[1, 2] - basis[2, 2],
    )


@compiled
def rounded(p: Vec, d: Vec, t: float) -> float:
    """From the sharp cube's surface on to the rounded one's (sphere tracing); infinite if the ray misses it."""
    speed = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    apart = 1.0
    for _ in range(6):
        x = max(abs(p[0] + t * d[0]) - (1.0 - BEVEL), 0.0)
        y = max(abs(p[1] + t * d[1]) - (1.0 - BEVEL), 0.0)
        z = max(abs(p[2] + t * d[2]) - (1.0 - BEVEL), 0.0)
        apart = math.sqrt(x * x + y * y + z * z) - BEVEL
        t += apart / speed
        if apart < 0.004:
            break
    return t if apart < 0.02 else math.inf


@compiled
def on_ground(wall: Floats, eye: Vec, d: Vec) -> tuple[Vec, Vec]:
    """Where a ray from the camera meets the ground, and the normal there.

    wall (4, m): row 0 has in its first columns the ground's own axis (x, y) and the camera's place on it; then for
    evenly spaced slopes of a ray in that plane the slope, the place where it meets the profile, and the slope there.
    """
    speed = d[0] * wall[0, 0] + d[1] * wall[0, 1]
    last = wall.shape[1] - 1
    q = (d[2] / speed - wall[1, 0]) / (wall[1, last] - wall[1, 0]) * last
    m = int(min(q, last - 1.0)) if q > 0.0 else 0  # also where the ray has no slope (NaN)
    part = min(max(q - m, 0.0), 1.0)
    place = wall[2, m] * (1.0 - part) + wall[2, m + 1] * part
    slope = wall[3, m] * (1.0 - part) + wall[3, m + 1] * part
    t = (place - wall[0, 2]) / speed
    length = math.sqrt(1.0 + slope * slope)
    point = (eye[0] + t * d[0], eye[1] + t * d[1], max(eye[2] + t * d[2], 0.0))
    return point, (-slope * wall[0, 0] / length, -slope * wall[0, 1] / length, 1.0 / length)


@compiled
def pixel_terms(
    bodies: Floats,
    planes: Floats,
    lights: Floats,
    wall: Floats,
    eye: Vec,
    d: Vec,
    k: int,
    t: float,
    bits: int,
    terms: Floats,
    room: Floats,
) -> int:
    """The terms of a pixel that shows body k at distance t, or the ground if k is -1; which weights they take.

    bits: the bodies that may hide lights from this pixel of ground, or are near to it (`bit`).
    """
    if k >= 0:
        length = -math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        p = (eye[0] + t * d[0], eye[1] + t * d[1], eye[2] + t * d[2])
        body_terms(bodies, planes, lights, k, p, (d[0] / length, d[1] / length, d[2] / length), terms, room)
        return METAL if bodies[k, 9] > 0.0 else RUBBER
    p, n = on_ground(wall, eye, d)
    light, tint = room[3], room[2]
    for each in range(LIGHTS):
        e, v, distance = arriving(lights, each, p, n)
        light[each] = e * unshadowed(bodies, planes, lights, each, -1, p, v, distance, bits)
    ground_terms(lights, light, p[2], nearby(bodies, -1, p, n, tint, bits), tint, terms)
    return GROUND


@compiled
def is_bare(bodies: Floats, lights: Floats, wall: Floats, eye: Vec, d: Vec, bits: int) -> bool:
    """Whether no body is near to a pixel of ground, nor near to the line from there to a light."""
    p, _ = on_ground(wall, eye, d)
    for k in range(len(bodies)):
        mine = bits >> bit(k, 0)
        if mine >> LIGHTS & 1:
            x, y, reach = bodies[k, 1] - p[0], bodies[k, 2] - p[1], REACH * bodies[k, 3]
            if x * x + y * y < reach * reach:
                return False
        for light in range(LIGHTS):
            if mine >> light & 1:
                v = (lights[light, 0], lights[light, 1], lights[light, 2])
                if lights[light, 3] != 0.0:
                    v = (v[0] - p[0], v[1] - p[1], v[2] - p[2])
                if passes(bodies, k, p, v, bodies[k, 13]):
                    return False
    return True


@compiled
def shade(
    bodies: Floats,
    planes: Floats,
    lights: Floats,
    wall: Floats,
    eye: Vec,
    basis: Floats,
    across: Floats,
    up: Floats,
    depth: Floats,
    ids: Ids,
    bits: Bits,
    weights: Floats,
    step: int,
    light: Floats,
) -> None:
    """Fill light (h, w, 3), linear, with the weighted terms (3, 22); ground that no body is near to is interpolated."""
    height, width = depth.shape
    terms, room = np.zeros((22, 3)), np.zeros((4, 4))
    rows, columns = (height - 1) // step + 2, (width - 1) // step + 2
    nodes = np.zeros((rows, columns, 3))
    for i in range(rows):
        for j in range(columns):
            a = across[0] + (across[1] - across[0]) * step * j
            b = up[0] + (up[1] - up[0]) * step * i
            pixel_terms(bodies, planes, lights, wall, eye, heading(basis, a, b), -1, 0.0, 0, terms, room)
            for c in range(3):
                nodes[i, j, c] = weighted(weights, GROUND, terms, c)
    for i in range(height):
        for j in range(width):
            k = int(ids[i, j]) - 1
            d = heading(basis, across[j], up[i])
            if k < 0 and (bits[i, j] == 0 or is_bare(bodies, lights, wall, eye, d, int(bits[i, j]))):
                m, n = i // step, j // step
                a, b = (i - m * step) / step, (j - n * step) / step
                for c in range(3):
                    first = nodes[m, n, c] * (1.0 - b) + nodes[m, n + 1, c] * b
                    second = nodes[m + 1, n, c] * (1.0 - b) + nodes[m + 1, n + 1, c] * b
                    light[i, j, c] = first * (1.0 - a) + second * a
                continue
            kind = pixel_terms(
                bodies, planes, lights, wall, eye, d, k, depth[i, j], int(bits[i, j]), terms, room
            )
            for c in range(3):
                light[i, j, c] = weighted(weights, kind, terms, c)


@compiled
def weighted(weights: Floats, kind: int, terms: Floats, c: int) -> float:
    """The weighted sum of the terms in one color."""
    total = 0.0
    for a in range(12 if kind == GROUND else 18 if kind == RUBBER else 22):
        total += weights[kind, a] * terms[a, c]
    return total


@compiled
def gather(
    bodies: Floats,
    planes: Floats,
    lights: Floats,
    wall: Floats,
    eye: Vec,
    basis: Floats,
    across: Floats,
    up: Floats,
    depth: Floats,
    ids: Ids,
    bits: Bits,
    target: Floats,
    stride: int,
    squares: Floats,
    products: Floats,
) -> None:
    """Add every stride-th pixel of target (h, w, 3), linear, to the normal equations (3, 22, 22) and (3, 22).

    A pixel weighs as the slope of the sRGB curve there, so that what is fitted are about the bytes; white ones, whose
    light is unknown, do not count.
    """
    terms, room = np.zeros((22, 3)), np.zeros((4, 4))
    for i in range(depth.shape[0]):
        for j in range(depth.shape[1]):
            if (7 * i + 13 * j) % stride:
                continue
            d = heading(basis, across[j], up[i])
            k = int(ids[i, j]) - 1
            kind = pixel_terms(
                bodies, planes, lights, wall, eye, d, k, depth[i, j], int(bits[i, j]), terms, room
            )
            for c in range(3):
                y = target[i, j, c]
                if y > 0.97:
                    continue
                square = max(y, 0.02) ** -1.1667
                for a in range(12 if kind == GROUND else 18 if kind == RUBBER else 22):
                    products[kind, a] += square * terms[a, c] * y
                    for b in range(a + 1):
                        squares[kind, a, b] += square * terms[a, c] * terms[b, c]
                        squares[kind, b, a] = squares[kind, a, b]


@compiled
def finish(light: Floats, side: float, curve: Ids, pixels: Ids) -> None:
    """pixels (h, w, 3) from linear light: the pixel filter's blur, (side, 1 - 2 side, side), then `curve`."""
    height, width = light.shape[:2]
    last = len(curve) - 1
    for i in range(height):
        above, below = max(i - 1, 0), min(i + 1, height - 1)
        for j in range(width):
            left, right = max(j - 1, 0), min(j + 1, width - 1)
            for c in range(3):
                total = 0.0
                for row, weight in ((above, side), (i, 1.0 - 2.0 * side), (below, side)):
                    total += weight * (
                        side * (light[row, left, c] + light[row, right, c])
                        + (1.0 - 2.0 * side) * light[row, j, c]
                    )
                level = min(total, 1.0) if total > 0.0 else 0.0  # NaN, as of a lamp on a surface, is black
                pixels[i, j, c] = curve[int(level * last + 0.5)]
