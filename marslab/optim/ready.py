"""Ready-made optimizers, spelled as torch spells them."""

from marslab.errors import UsageError
from marslab.optim.base import RuleOptimizer

__all__ = ["AdamW", "Lion", "MarsAdamW", "MarsLion", "MarsShampoo", "Muon", "Shampoo"]

OWN_BETAS = "betas"


class MarsAdamW(RuleOptimizer):
    """MARS-AdamW (arXiv 2411.10438, algorithm 2); every tensor takes it.

    betas = (beta1, beta2); gamma scales the correction; clip_radius: of each tensor's corrected gradient (inf: none);
    second_moment: what v averages, the "clipped" or the "raw" gradient; amsgrad: divide by the largest v so far. The other
    options are those of RuleOptimizer. State per element: m, v (and v_max), and the last gradient (approximate mode) or the
    previous weights (exact mode with a closure).
    """

    def __init__(
        self,
        params,
        lr=3e-3,
        betas=(0.95, 0.99),
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
        super().__init__(params, rule, clip_radius=clip_radius, second_moment=second_moment, **hyper, **options)


class MarsLion(RuleOptimizer):
    """MARS-Lion (arXiv 2411.10438, algorithm 3); every tensor takes it. One beta: the second of ``betas`` is not used.

    State per element: m, and the last gradient or the previous weights. The other options are those of RuleOptimizer.
    """

    def __init__(self, params, lr=3e-4, betas=(0.95, 0.99), weight_decay=0.0, gamma=0.025, *, clip_radius=1.0, **options):
        hyper = dict(lr=lr, betas=betas, weight_decay=weight_decay, gamma=gamma, clip_radius=clip_radius)
        super().__init__(params, "mars_lion", **hyper, **options)


class MatrixOptimizer(RuleOptimizer):
    """A rule for matrices; vectors and, where names are known, embeddings and the head go to the fallback."""

    def __init__(self, params, rule, *, fallback="adamw", fallback_options=None, **options):
        super().__init__(params, rule, fallback=fallback, fallback_options=fallback_options, **options)


class MarsShampoo(MatrixOptimizer):
    """MARS-Shampoo (arXiv 2411.10438, algorithm 4) on matrices, filters flattened to (out, rest).

    orthogonalization: "newton_schulz" (five steps in the parameter's precision), "released" (bfloat16) or "polar" (exact);
    shape_factor "original" multiplies by sqrt(max(1, rows / columns)). Of ``betas`` only the first is used. State per element:
    m, and the last gradient or the previous weights. fallback, fallback_options and the other options: see RuleOptimizer.
    """

    def __init__(
        self,
        params,
        lr=2e-2,
        betas=(0.95, 0.99),
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
        super().__init__(params, "mars_shampoo", **hyper, **words, **options)


class AdamW(RuleOptimizer):
    """AdamW as in torch. State per element: m, v (and v_max). The other options are those of RuleOptimizer."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, **options):
        hyper = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
        super().__init__(params, "amsgrad" if amsgrad else "adamw", **hyper, **options)


class Lion(RuleOptimizer):
    """Lion (arXiv 2302.06675). State per element: m. The other options are those of RuleOptimizer."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, **options):
        super().__init__(params, "lion", lr=lr, betas=betas, weight_decay=weight_decay, **options)


class Muon(MatrixOptimizer):
    """Muon on matrices, filters flattened to (out, rest); momentum and nesterov as in torch.optim.Muon.

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
        if OWN_BETAS in options:
            raise UsageError("Muon has no betas; give momentum, as in torch.optim.Muon.")
        words = dict(orthogonalization=orthogonalization, shape_factor=adjust_lr_fn or "original")
        form = "nesterov" if nesterov else "plain"
        super().__init__(params, "muon", lr=lr, weight_decay=weight_decay, beta1=momentum, momentum=form, **words, **options)


class Shampoo(MatrixOptimizer):
    """Shampoo, L^(-1/4) G R^(-1/4), on matrices, filters flattened to (out, rest); no momentum.

    statistics: "ema" (moving averages with beta2, bias corrected) or "sum". State: rows^2 + columns^2 numbers a matrix.
    The other options are those of RuleOptimizer.
    """

    def __init__(self, params, lr=2e-2, beta2=0.99, eps=1e-16, weight_decay=0.0, *, statistics="ema", **options):
        hyper = dict(lr=lr, beta2=beta2, eps=eps, weight_decay=weight_decay)
        super().__init__(params, "shampoo", statistics=statistics, **hyper, **options)
