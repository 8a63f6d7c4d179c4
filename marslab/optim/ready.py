"""Ready-made optimizers, spelled as torch spells them."""

from marslab.errors import UsageError
from marslab.optim.base import RuleOptimizer
from marslab.optim.groups import Default

__all__ = ["AdamW", "Lion", "MarsAdamW", "MarsLion", "MarsShampoo", "Muon", "Shampoo"]

BETAS, ADAMS, LIONS = Default((0.95, 0.99)), Default((0.9, 0.999)), Default((0.9, 0.99))


class ReadyMade(RuleOptimizer):
    """One rule under torch's signature."""

    def __init__(self, params, rule, options: dict, **hyper):
        if "rule" in options:
            name = type(self).__name__
            raise UsageError(f"{name} has a rule; RuleOptimizer(params, {options['rule']!r}) takes another one.")
        super().__init__(params, rule, **hyper, **options)


class MarsAdamW(ReadyMade):
    """MARS-AdamW (arXiv 2411.10438, algorithm 2) for a module, best handed over itself; every tensor takes it.

    betas = (beta1, beta2); gamma scales the correction; clip_radius: of each tensor's corrected gradient (inf: none);
    second_moment: what v averages, the "clipped" or the "raw" gradient; amsgrad: divide by the largest v so far. The other
    options are those of RuleOptimizer. State per element: m, v (and v_max), and the last gradient (approximate mode) or the
    previous weights (exact mode with a closure).
    """

    def __init__(
        self,
        params,
        lr=3e-3,
        betas=BETAS,
        eps=1e-8,
        weight_decay=0.0,
        gamma=0.025,
        *,
        clip_radius=1.0,
        second_moment="clipped",
        amsgrad=False,
        **options,
    ):
        hyper = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, gamma=gamma)
        rule = "mars_amsgrad" if amsgrad else "mars_adamw"
        super().__init__(params, rule, options, clip_radius=clip_radius, second_moment=second_moment, **hyper)


class MarsLion(ReadyMade):
    """MARS-Lion (arXiv 2411.10438, algorithm 3) for a module, best handed over itself; every tensor takes it.

    One beta: the second of ``betas`` is not used. State per element: m, and the last gradient or the previous weights. The
    other options are those of RuleOptimizer.
    """

    def __init__(self, params, lr=3e-4, betas=BETAS, weight_decay=0.0, gamma=0.025, *, clip_radius=1.0, **options):
        hyper = dict(lr=lr, betas=betas, weight_decay=weight_decay, gamma=gamma, clip_radius=clip_radius)
        super().__init__(params, "mars_lion", options, **hyper)


class MatrixOptimizer(ReadyMade):
    """A rule for matrices of a module, best handed over itself; vectors, embeddings and the head go to the fallback.

    Embeddings are found by their type only in a module, and by name in named parameters; of tensors alone all with two axes
    are matrices. fallback: the rule for the rest, "adamw" unless another is given; fallback_options: its hyper-parameters.
    """

    def __init__(self, params, rule, options: dict, **hyper):
        super().__init__(params, rule, {"fallback": "adamw", **options}, **hyper)


class MarsShampoo(MatrixOptimizer):
    """MARS-Shampoo (arXiv 2411.10438, algorithm 4) on the matrices of a module, best handed over itself.

    Filters are flattened to (out, rest); what no matrix is, embeddings and the head take the fallback (MatrixOptimizer).
    orthogonalization: "newton_schulz" (five steps in the parameter's precision), "released" (bfloat16) or "polar" (exact);
    shape_factor "original" multiplies by sqrt(max(1, rows / columns)). Of ``betas`` only the first is used. State per element:
    m, and the last gradient or the previous weights. fallback, fallback_options and the other options: see RuleOptimizer.
    """

    def __init__(
        self,
        params,
        lr=2e-2,
        betas=BETAS,
        weight_decay=0.0,
        gamma=0.025,
        *,
        clip_radius=1.0,
        orthogonalization="newton_schulz",
        shape_factor="none",
        eps=1e-8,
        **options,
    ):
        hyper = dict(lr=lr, betas=betas, weight_decay=weight_decay, gamma=gamma, clip_radius=clip_radius, eps=eps)
        words = dict(orthogonalization=orthogonalization, shape_factor=shape_factor)
        super().__init__(params, "mars_shampoo", options, **hyper, **words)


class AdamW(ReadyMade):
    """AdamW as in torch, for a module or what torch takes.

    State per element: m, v (and v_max). The other options are those of RuleOptimizer.
    """

    def __init__(self, params, lr=1e-3, betas=ADAMS, eps=1e-8, weight_decay=1e-2, amsgrad=False, **options):
        hyper = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
        super().__init__(params, "amsgrad" if amsgrad else "adamw", options, **hyper)


class Lion(ReadyMade):
    """Lion (arXiv 2302.06675), for a module or what torch takes.

    State per element: m. The other options are those of RuleOptimizer.
    """

    def __init__(self, params, lr=1e-4, betas=LIONS, weight_decay=0.0, **options):
        super().__init__(params, "lion", options, lr=lr, betas=betas, weight_decay=weight_decay)


class Muon(MatrixOptimizer):
    """Muon on the matrices of a module, best handed over itself; momentum and nesterov as in torch.optim.Muon, also in groups.

    Filters are flattened to (out, rest); what no matrix is, embeddings and the head take the fallback (MatrixOptimizer).
    orthogonalization: "newton_schulz" (five steps in the parameter's precision), "released" (bfloat16, as in torch) or "polar";
    adjust_lr_fn: None or "original", "match_rms_adamw", or "none". State per element: m. Other options: see RuleOptimizer.
    """

    def __init__(
        self,
        params,
        lr=2e-2,
        weight_decay=0.0,
        momentum=0.95,
        nesterov=True,
        *,
        orthogonalization="newton_schulz",
        adjust_lr_fn=None,
        **options,
    ):
        for name in ("betas", "beta1", "beta2", "form"):
            if name in options:
                raise UsageError(f"Muon has no {name}; give momentum and nesterov, as in torch.optim.Muon.")
        words = dict(orthogonalization=orthogonalization, shape_factor=adjust_lr_fn or "original")
        hyper = dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov)
        super().__init__(params, "muon", options, **hyper, **words)


class Shampoo(MatrixOptimizer):
    """Shampoo, L^(-1/4) G R^(-1/4), on the matrices of a module, best handed over itself; no momentum.

    Filters are flattened to (out, rest); what no matrix is, embeddings and the head take the fallback (MatrixOptimizer).
    statistics: "ema" (moving averages with beta2, bias corrected) or "sum". State: rows^2 + columns^2 numbers a matrix.
    The other options are those of RuleOptimizer.
    """

    def __init__(self, params, lr=2e-2, beta2=0.99, eps=1e-16, weight_decay=0.0, *, statistics="ema", **options):
        hyper = dict(lr=lr, beta2=beta2, eps=eps, weight_decay=weight_decay)
        super().__init__(params, "shampoo", options, statistics=statistics, **hyper)
