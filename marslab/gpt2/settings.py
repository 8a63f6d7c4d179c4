"""What a run is: one typed, frozen record, made from the paper's presets and overrides.

preset("small", "mars_adamw")                                      # tables 10 to 12 of arXiv 2411.10438
preset("tiny", "adamw", lr=1e-3, steps=200, dropout="0.1")         # overrides; words are read as their field's type
"""

import types
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

from marslab.errors import UsageError, unknown
from marslab.gpt2.model import SIZES, VOCABULARIES, Shape, shape_of
from marslab.gpt2.presets import METHODS, values_for
from marslab.kinds import one_of

__all__ = ["Settings", "preset", "read_settings"]

WORDS = {
    "schedule": ("cosine", "wsd", "constant"),
    "precision": ("fp32", "bf16", "fp64"),
    "parallel": ("ddp", "fsdp2"),
    "tokenizer": tuple(VOCABULARIES),
}
COUNTS = ("steps", "batch", "micro_batch", "context", "eval_every", "eval_sequences", "checkpoint_every", "log_every")
SWITCH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that decides the numbers of a run; the same record trains the same model.

    size, optimizer: names of a shape and of a method; exact: two gradients a step on the same sample.
    lr of the method's main part; lr_1d of what goes to AdamW (None: no such part); weight_decay and weight_decay_1d likewise;
    betas for the main part (muon: beta1 is its momentum) and betas_1d; gamma and clip_radius of the MARS methods (each tensor's
    corrected gradient); min_lr where a schedule ends.
    schedule over ``steps`` with ``warmup`` steps from 0; wsd falls linearly over its last ``decay`` share.
    batch sequences a step, taken in micro-batches of ``micro_batch`` on all processes together; context tokens a sequence.
    clip: the global norm of the gradient (0: none). seed: of weights, batches and dropout masks. compiled: torch.compile.
    eval_every, checkpoint_every, log_every steps; eval_sequences of the fixed validation set. parallel: how several processes
    share the model. corpus: what ``prepare`` was given (only a name); tokenizer: what it was cut by, which decides the
    vocabulary of the model.
    """

    size: str
    optimizer: str
    exact: bool = False
    lr: float
    lr_1d: float | None = None
    min_lr: float
    weight_decay: float
    weight_decay_1d: float
    beta1: float
    beta2: float
    beta1_1d: float = 0.9
    beta2_1d: float = 0.95
    gamma: float = 0.025
    clip_radius: float = 1.0
    clip: float = 1.0
    schedule: str = "cosine"
    warmup: int
    decay: float = 0.2
    steps: int
    batch: int
    micro_batch: int
    context: int
    dropout: float = 0.0
    scale_by_layer: bool = True
    precision: str
    compiled: bool = False
    parallel: str = "ddp"
    seed: int = 5000
    eval_every: int
    eval_sequences: int
    checkpoint_every: int
    log_every: int
    corpus: str = "stdlib"
    tokenizer: str

    def __post_init__(self):
        self.shape  # noqa: B018  refuses an unknown size and a dropout outside [0, 1)
        if self.optimizer not in METHODS:
            raise unknown("optimizer", self.optimizer, METHODS)
        for name, words in WORDS.items():
            one_of(name, getattr(self, name), words)
        if self.exact and not METHODS[self.optimizer].has_exact:
            raise UsageError(
                f"exact = True is for the MARS methods and superadam; {self.optimizer} takes one gradient, so leave it out."
            )
        for name in (
            "steps",
            "batch",
            "micro_batch",
            "context",
            "eval_every",
            "eval_sequences",
            "checkpoint_every",
            "log_every",
        ):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} = {getattr(self, name)} must be at least 1.")
        for name in ("lr", "min_lr", "clip", "warmup", "seed", "decay"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise UsageError(f"{name} = {getattr(self, name)} must be a number of at least 0.")
        self._check_relations()

    def _check_relations(self):
        if self.batch % self.micro_batch:
            raise UsageError(
                f"batch = {self.batch} is no multiple of micro_batch = {self.micro_batch}; choose one that divides it."
            )
        if self.decay > 1:
            raise UsageError(f"decay = {self.decay} is the last share of the steps, so at most 1.")
        if self.context > SIZES[self.size].context:
            raise UsageError(
                f"context = {self.context} exceeds the {SIZES[self.size].context} of size {self.size!r}; lower it."
            )

    @property
    def shape(self) -> Shape:
        """The model's shape."""
        vocabulary = VOCABULARIES.get(self.tokenizer, 1)
        return replace(shape_of(self.size), vocabulary=vocabulary, dropout=self.dropout, scale_by_layer=self.scale_by_layer)

    @property
    def micro_batches(self) -> int:
        """Micro-batches a step, on all processes together."""
        return self.batch // self.micro_batch

    @property
    def tokens_per_step(self) -> int:
        """Tokens a step."""
        return self.batch * self.context

    @property
    def gradients_per_step(self) -> int:
        """Gradient evaluations a step: 2 in the exact mode."""
        return 2 if self.exact else 1

    def as_dict(self) -> dict:
        """Plain values by name, as ``read_settings`` takes them."""
        return asdict(self)


KINDS = {field.name: field.type for field in fields(Settings)}


def preset(size: str, optimizer: str, **overrides) -> Settings:
    """The paper's settings of a method at a size, with overrides by name.

    Raises:
        UsageError: an unknown name (the closest is named), or a value of the wrong kind.
    """
    shape_of(size)
    if optimizer not in METHODS:
        raise unknown("optimizer", optimizer, METHODS)
    check_names(overrides)
    given = read_values(overrides)
    return Settings(**{**values_for(size, optimizer, given.get("steps")), **given})


def read_settings(values: Mapping) -> Settings:
    """The record from plain values by name, as it was saved; every name must be there."""
    check_names(values)
    missing = [name for name in KINDS if name not in values]
    if missing:
        raise UsageError(f"the settings lack {missing[0]!r}: they were saved by another version; train anew.")
    return Settings(**read_values(values))


def check_names(values) -> None:
    """Refuse a name that is no setting."""
    for name in values:
        if name not in KINDS:
            raise unknown("setting", name, KINDS)


def read_values(values: Mapping) -> dict:
    """Values as their fields' types."""
    return {name: read_value(name, value) for name, value in values.items()}


def read_value(name: str, value):
    """A value, or the word for it, as its field's type: clip=1 is 1.0, exact="False" is False, exact=0 too (case X13)."""
    kind = KINDS[name]
    if isinstance(kind, types.UnionType):
        if value is None or value == "none":
            return None
        kind = float
    if kind is bool:
        found = SWITCH.get(str(value).lower())
        if found is None:
            raise UsageError(f"{name} = {value!r} is neither true nor false.")
        return found
    if kind is str:
        return str(value)
    return number(name, value, kind)


def number(name: str, value, kind):
    """A float, or a whole number where the field counts something."""
    try:
        found = float(value)
        if isinstance(value, bool) or found != found or (kind is int and not found.is_integer()):
            raise ValueError
    except (TypeError, ValueError, OverflowError) as problem:
        raise UsageError(f"{name} = {value!r} is no {'whole number' if kind is int else 'number'}.") from problem
    return kind(found) if kind is float or not isinstance(value, int) else value
