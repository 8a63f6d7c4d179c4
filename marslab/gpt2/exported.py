"""To transformers' GPT2LMHeadModel and back: config.json and model.safetensors.

Names differ by the prefix ``transformer.``; the four matrices of a block are transposed there (Conv1D), and every norm and
matrix has a bias, which is zero here: a model with any other bias is refused on the way back.
"""

import json
from pathlib import Path

import torch

from marslab.errors import UsageError
from marslab.gpt2 import safetensors
from marslab.gpt2.model import GPT, Shape
from marslab.results import files

__all__ = ["configuration", "export", "load_exported", "to_transformers"]

REMEDY = "name a folder that you can write to"
TRANSPOSED = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
IGNORED = ("attn.bias", "attn.masked_bias", "lm_head.weight")  # masks of old versions, and the tied head


def configuration(shape: Shape) -> dict:
    """transformers' configuration of a model of this shape; byte-level models end their texts with byte 0."""
    end = 0 if shape.vocabulary == 256 else min(50256, shape.vocabulary - 1)
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": shape.vocabulary,
        "n_positions": shape.context,
        "n_embd": shape.width,
        "n_layer": shape.layers,
        "n_head": shape.heads,
        "n_inner": None,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "resid_pdrop": shape.dropout,
        "embd_pdrop": shape.dropout,
        "attn_pdrop": shape.dropout,
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": shape.scale_by_layer,
        "tie_word_embeddings": True,
        "bos_token_id": end,
        "eos_token_id": end,
    }


def to_transformers(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A state dictionary with transformers' names and transposes, and biases of zero."""
    found = {}
    for name, value in state.items():
        found[f"transformer.{name}"] = value.T.contiguous() if name.endswith(TRANSPOSED) else value
        if not name.startswith(("wte", "wpe")):
            found[f"transformer.{name.removesuffix('weight')}bias"] = torch.zeros(value.shape[0], dtype=value.dtype)
    return found


def export(model: GPT, folder: Path) -> None:
    """Write a model into ``folder`` as transformers loads it (``GPT2LMHeadModel.from_pretrained(folder)``).

    Raises:
        StoreError: the folder cannot be written.
    """
    folder = Path(folder)
    files.check_writable(folder, REMEDY)
    safetensors.write(folder / "model.safetensors", to_transformers(model.state_dict()), REMEDY)
    files.write(folder / "config.json", json.dumps(configuration(model.shape), indent=2).encode(), REMEDY)


def load_exported(folder: Path) -> GPT:
    """A model from such a folder, written here or by transformers.

    Raises:
        UsageError: no such folder, another kind of model, or one that has what this model lacks (biases, another activation).
    """
    folder = Path(folder)
    shape = shape_from(folder / "config.json")
    model, found = GPT(shape), safetensors.read(folder / "model.safetensors")
    named = {name.removeprefix("transformer."): value for name, value in found.items()}
    for name, value in named.items():
        if name.endswith("bias") and not name.endswith(IGNORED) and value.count_nonzero():
            raise UsageError(f"{folder}: {name} is not zero, and this model has no biases; load it with transformers.")
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(fitting(folder, name, named, p))
    return model


def fitting(folder, name, named, p) -> torch.Tensor:
    """The tensor of a parameter, turned as it is here."""
    if name not in named:
        raise UsageError(f"{folder}: model.safetensors lacks {name}; it is no whole GPT-2.")
    value = named[name].T if name.endswith(TRANSPOSED) else named[name]
    if value.shape != p.shape:
        raise UsageError(f"{folder}: {name} has shape {tuple(value.shape)} where config.json says {tuple(p.shape)}.")
    return value


def shape_from(path: Path) -> Shape:
    """The shape of a configuration."""
    try:
        c = json.loads(path.read_text())
        shape = Shape(c["n_layer"], c["n_head"], c["n_embd"], c["n_positions"], c["vocab_size"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise UsageError(f"{path} is no configuration of a GPT-2 ({problem!r}); name an exported folder.") from problem
    if c.get("activation_function", "gelu_new") != "gelu_new" or c.get("layer_norm_epsilon", 1e-5) != 1e-5:
        raise UsageError(f"{path}: only activation_function gelu_new and layer_norm_epsilon 1e-5 are known here.")
    changes = {"scale_by_layer": bool(c.get("scale_attn_by_inverse_layer_idx")), "dropout": c.get("resid_pdrop", 0.0)}
    return Shape(**{**vars(shape), **changes})
