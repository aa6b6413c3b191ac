"""Makes the two materials of CLEVR's objects as node trees; the color is the object's own (Object Info).

Facts, as Blender 4.5 reads the published ones: rubber mixes diffuse and velvet (sheen .6) by the Fresnel
factor of IOR + .2, then that and light gray glossy (Beckmann, roughness .5916) by the Fresnel factor of
IOR 1.2; metal mixes two anisotropic GGX lobes. Runs inside Blender only.
"""

from __future__ import annotations

import bpy

RUBBER_IOR, RUBBER_SHEEN_IOR = 1.2, 1.4
RUBBER_SHEEN, RUBBER_ROUGHNESS, RUBBER_GLOSS = 0.6, 0.35**0.5, 0.8
METAL_ROUGHNESS, METAL_ANISOTROPY, METAL_MIX = (0.2**0.5, 0.1), 0.25, 0.6


def make_rubber() -> bpy.types.Material:
    """The matte material, `rubber`."""
    material, tree, color, output = _material("rubber")
    diffuse = _node(tree, "ShaderNodeBsdfDiffuse", Roughness=0.0)
    velvet = _node(tree, "ShaderNodeBsdfSheen", Roughness=RUBBER_SHEEN)
    velvet.distribution = "ASHIKHMIN"
    gloss = _node(tree, "ShaderNodeBsdfAnisotropic", Roughness=RUBBER_ROUGHNESS, Anisotropy=0.0)
    gloss.distribution = "BECKMANN"
    gloss.inputs["Color"].default_value = (RUBBER_GLOSS, RUBBER_GLOSS, RUBBER_GLOSS, 1.0)
    for node in (diffuse, velvet):
        tree.links.new(color, node.inputs["Color"])
    base = _mix(tree, diffuse, velvet, _node(tree, "ShaderNodeFresnel", IOR=RUBBER_SHEEN_IOR))
    both = _mix(tree, base, gloss, _node(tree, "ShaderNodeFresnel", IOR=RUBBER_IOR))
    tree.links.new(both.outputs["Shader"], output.inputs["Surface"])
    return material


def make_metal() -> bpy.types.Material:
    """The shiny material, `metal`."""
    material, tree, color, output = _material("metal")
    first, second = (_lobe(tree, color, roughness) for roughness in METAL_ROUGHNESS)
    both = _mix(tree, first, second, METAL_MIX)
    tree.links.new(both.outputs["Shader"], output.inputs["Surface"])
    return material


def _lobe(tree: bpy.types.NodeTree, color: bpy.types.NodeSocket, roughness: float) -> bpy.types.Node:
    lobe = _node(tree, "ShaderNodeBsdfAnisotropic", Roughness=roughness, Anisotropy=METAL_ANISOTROPY)
    lobe.distribution = "GGX"
    tree.links.new(color, lobe.inputs["Color"])
    return lobe


def _material(
    name: str,
) -> tuple[bpy.types.Material, bpy.types.NodeTree, bpy.types.NodeSocket, bpy.types.Node]:
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    material.use_fake_user = True
    tree = material.node_tree
    tree.nodes.clear()
    color = tree.nodes.new("ShaderNodeObjectInfo").outputs["Color"]
    return material, tree, color, tree.nodes.new("ShaderNodeOutputMaterial")


def _node(tree: bpy.types.NodeTree, kind: str, **values: float) -> bpy.types.Node:
    node = tree.nodes.new(kind)
    for name, value in values.items():
        node.inputs[name].default_value = value
    return node


def _mix(
    tree: bpy.types.NodeTree, first: bpy.types.Node, second: bpy.types.Node, factor: bpy.types.Node | float
) -> bpy.types.Node:
    """first * (1 - factor) + second * factor."""
    mix = tree.nodes.new("ShaderNodeMixShader")
    if isinstance(factor, float):
        mix.inputs["Fac"].default_value = factor
    else:
        tree.links.new(factor.outputs["Fac"], mix.inputs["Fac"])
    tree.links.new(first.outputs["BSDF" if "BSDF" in first.outputs else "Shader"], mix.inputs[1])
    tree.links.new(second.outputs["BSDF" if "BSDF" in second.outputs else "Shader"], mix.inputs[2])
    return mix
