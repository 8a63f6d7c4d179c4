r"""GPT-2 without biases: the paper's model, and tiny ones for a CPU.

A block is :math:`x \leftarrow x + A(N(x)),\; x \leftarrow x + M(N(x))` with layer norms N that have a weight only, causal
attention A and an MLP M of width 4 d; the head is the transposed embedding (tied). Names of modules are transformers', so
that its checkpoints and these differ by a prefix and by transposed matrices.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from marslab.errors import UsageError, unknown

__all__ = ["GPT", "SIZES", "Shape", "count_parameters", "flops_per_token", "initialise"]

VOCABULARIES = {"bytes": 256, "gpt2": 50304}  # by tokenizer; GPT-2's 50257 tokens are padded to a multiple of 64
BYTES, PADDED_BPE = VOCABULARIES.values()


@dataclass(frozen=True)
class Shape:
    """What a model looks like.

    layers, heads, width (a multiple of heads), context (tokens), vocabulary (logits). scale_by_layer divides the attention
    of layer i = 1, 2, ... by i as well, as the released script does; dropout in [0, 1): of embeddings, attention and residuals.
    """

    layers: int
    heads: int
    width: int
    context: int
    vocabulary: int
    scale_by_layer: bool = False
    dropout: float = 0.0

    def __post_init__(self):
        for name in ("layers", "heads", "width", "context", "vocabulary"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} = {getattr(self, name)!r} of a model must be at least 1.")
        if self.width % self.heads:
            raise UsageError(f"width = {self.width} is no multiple of heads = {self.heads}; choose heads that divide it.")
        if not 0 <= self.dropout < 1:
            raise UsageError(f"dropout = {self.dropout!r} must lie in [0, 1).")


SIZES = {
    "micro": Shape(2, 2, 32, 32, BYTES),
    "tiny": Shape(3, 3, 96, 128, BYTES),
    "mini": Shape(6, 6, 192, 256, BYTES),
    "small": Shape(12, 12, 768, 1024, PADDED_BPE),
    "medium": Shape(24, 16, 1024, 1024, PADDED_BPE),
    "large": Shape(36, 20, 1280, 1024, PADDED_BPE),
    "xl": Shape(48, 25, 1600, 1024, PADDED_BPE),
}


def count_parameters(shape: Shape) -> int:
    r"""(V + C + 1) d + L (12 d^2 + 2 d) with vocabulary V, context C, width d and L layers; the tied head counts once."""
    d = shape.width
    return (shape.vocabulary + shape.context + 1) * d + shape.layers * (12 * d * d + 2 * d)


def flops_per_token(shape: Shape) -> int:
    """6 N + 12 L d C for one forward and backward pass, N without the table of positions (arXiv 2204.02311, appendix B)."""
    counted = count_parameters(shape) - shape.context * shape.width
    return 6 * counted + 12 * shape.layers * shape.width * shape.context


class Norm(nn.Module):
    """Layer norm over the last axis with a weight and no bias."""

    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        """Of shape (..., width), as the result."""
        return F.layer_norm(x, self.weight.shape, self.weight, None, 1e-5)


class Attention(nn.Module):
    """Causal self-attention; c_attn holds queries, keys and values one above the other."""

    def __init__(self, shape: Shape, layer: int):
        super().__init__()
        self.heads, self.dropout = shape.heads, shape.dropout
        self.scale = 1 / math.sqrt(shape.width // shape.heads) / (layer if shape.scale_by_layer else 1)
        self.c_attn = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.c_proj = nn.Linear(shape.width, shape.width, bias=False)

    def forward(self, x):
        """Of shape (batch, tokens, width), as the result."""
        q, k, v = self.c_attn(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout, scale=self.scale)
        return F.dropout(self.c_proj(y.transpose(1, 2).flatten(2)), self.dropout, self.training)


class MLP(nn.Module):
    """Two linear maps around GPT-2's own approximation of GELU."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.dropout = shape.dropout
        self.c_fc = nn.Linear(shape.width, 4 * shape.width, bias=False)
        self.c_proj = nn.Linear(4 * shape.width, shape.width, bias=False)

    def forward(self, x):
        """Of shape (..., width), as the result."""
        return F.dropout(self.c_proj(F.gelu(self.c_fc(x), approximate="tanh")), self.dropout, self.training)


class Block(nn.Module):
    """Attention and MLP, each behind a norm and beside a residual."""

    def __init__(self, shape: Shape, layer: int):
        super().__init__()
        self.ln_1, self.attn = Norm(shape.width), Attention(shape, layer)
        self.ln_2, self.mlp = Norm(shape.width), MLP(shape)

    def forward(self, x):
        """Of shape (batch, tokens, width), as the result."""
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """The whole model; ``forward(tokens)`` gives logits, ``forward(tokens, targets)`` the mean cross-entropy in nats.

    The weights are drawn from ``seed`` alone (see ``initialise``); no global random state is used or changed.
    """

    def __init__(self, shape: Shape, seed: int = 0):
        super().__init__()
        self.shape = shape
        with torch.random.fork_rng(devices=[]):  # the layers draw weights that are replaced below
            self.wte = nn.Embedding(shape.vocabulary, shape.width)
            self.wpe = nn.Embedding(shape.context, shape.width)
            self.h = nn.ModuleList(Block(shape, layer) for layer in range(1, shape.layers + 1))
            self.ln_f = Norm(shape.width)
        initialise(self, seed)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor | None = None) -> torch.Tensor:
        """Tokens and targets of shape (batch, length), length <= context; logits (batch, length, vocabulary) or one loss.

        The loss is taken in float32 whatever the logits are (in float64 where they are).
        """
        if tokens.shape[1] > self.shape.context:
            raise UsageError(f"{tokens.shape[1]} tokens exceed the model's context of {self.shape.context}; cut them.")
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = F.dropout(self.wte(tokens) + self.wpe(places), self.shape.dropout, self.training)
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        if targets is None:
            return logits
        logits = logits if logits.dtype == torch.float64 else logits.float()
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def initialise(model: GPT, seed: int) -> None:
    """Normal weights with deviation 0.02, divided by sqrt(2 L) where a block ends in the residual (GPT-2's).

    Tensors on the device "meta" (for counting and dry runs) have no values and are left alone.
    """
    generator = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        if p.ndim >= 2 and not p.is_meta:
            deviation = 0.02 / math.sqrt(2 * model.shape.layers) if name.endswith("c_proj.weight") else 0.02
            p.copy_(torch.empty(p.shape).normal_(0, deviation, generator=generator))


def shape_of(size: str) -> Shape:
    """The shape with this name.

    Raises:
        UsageError: there is none; the closest is named.
    """
    if size not in SIZES:
        raise unknown("size", size, SIZES)
    return SIZES[size]
