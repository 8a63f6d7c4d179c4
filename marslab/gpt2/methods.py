"""The methods of the presets, as optimizers on a model: which tensors take which rule, and with what."""

from torch import nn

from marslab import optim
from marslab.gpt2.settings import Settings

__all__ = ["make_optimizer"]


def make_optimizer(settings: Settings, model: nn.Module) -> optim.RuleOptimizer:
    """The optimizer of a run.

    adamw, lion       matrices are decayed, vectors are not
    mars_adamw, mars_lion   the released code's convention: tensors with two axes (tables too) take MARS, vectors AdamW with
                      lr_1d, corrected against zero at the first step
    muon, mars_shampoo, shampoo   matrices inside blocks; tables, head and vectors take AdamW with lr_1d
    adan              as adamw
    superadam         every tensor; no decay
    """
    return MAKERS[settings.optimizer](settings, model)


def decayed(s: Settings, model):
    """Two groups: matrices with weight decay, vectors with the other one."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    matrices, vectors = ([pair for pair in named if (pair[1].ndim >= 2) == wide] for wide in (True, False))
    return [
        {"params": matrices, "weight_decay": s.weight_decay},
        {"params": vectors, "weight_decay": s.weight_decay_1d},
    ]


def adamw(s: Settings, model):
    """AdamW."""
    return optim.AdamW(decayed(s, model), lr=s.lr, betas=(s.beta1, s.beta2))


def lion(s: Settings, model):
    """Lion."""
    return optim.Lion(decayed(s, model), lr=s.lr, betas=(s.beta1, s.beta2))


def released(s: Settings, model):
    """MARS-AdamW and MARS-Lion as in the public code."""
    optimizer = optim.released(
        list(model.named_parameters()),
        lr=s.lr,
        betas=(s.beta1, s.beta2),
        weight_decay=s.weight_decay,
        gamma=s.gamma,
        is_approx=not s.exact,
        mars_type=s.optimizer.replace("_", "-"),
        lr_1d=s.lr if s.lr_1d is None else s.lr_1d,
        betas_1d=(s.beta1_1d, s.beta2_1d),
        weight_decay_1d=s.weight_decay_1d,
    )
    for group in optimizer.param_groups:
        if "clip_radius" in group:
            group["clip_radius"] = s.clip_radius
    return optimizer


def rest(s: Settings) -> dict:
    """AdamW's options for what a matrix rule does not take."""
    lr = s.lr if s.lr_1d is None else s.lr_1d
    return dict(lr=lr, betas=(s.beta1_1d, s.beta2_1d), weight_decay=s.weight_decay_1d)


def muon(s: Settings, model):
    """Muon with Nesterov's momentum and five Newton-Schulz steps."""
    return optim.Muon(model, lr=s.lr, weight_decay=s.weight_decay, momentum=s.beta1, fallback_options=rest(s))


def mars_shampoo(s: Settings, model):
    """MARS-Shampoo with Newton-Schulz, scaled by the shape as in the public code."""
    return optim.MarsShampoo(
        model,
        lr=s.lr,
        betas=(s.beta1, s.beta2),
        weight_decay=s.weight_decay,
        gamma=s.gamma,
        clip_radius=s.clip_radius,
        shape_factor="original",
        exact=s.exact,
        fallback_options=rest(s),
    )


def shampoo(s: Settings, model):
    """Shampoo without momentum, on matrices inside blocks."""
    return optim.Shampoo(model, lr=s.lr, beta2=s.beta2, weight_decay=s.weight_decay, fallback_options=rest(s))


def adan(s: Settings, model):
    """Adan; its third beta is 0.99 (arXiv 2208.06677)."""
    return optim.RuleOptimizer(decayed(s, model), "adan", lr=s.lr, beta1=s.beta1, beta2=s.beta2)


def superadam(s: Settings, model):
    """SuperAdam (arXiv 2106.08208): tau = 1 in the exact mode, else tau = 0, its one-gradient form.

    k = 1, not the released 1e-3, which weighs fresh gradients by less than 1e-6: lr is then a rate of AdamW's order.
    """
    rule = "superadam" if s.exact else "superadam_momentum"
    return optim.RuleOptimizer(model, rule, lr=s.lr, beta2=s.beta2, k=1.0)


MAKERS = {
    "adamw": adamw,
    "lion": lion,
    "muon": muon,
    "mars_adamw": released,
    "mars_lion": released,
    "mars_shampoo": mars_shampoo,
    "shampoo": shampoo,
    "adan": adan,
    "superadam": superadam,
}
