"""Rules against torch's own optimizers, to 1e-12 in float64; bit for bit where both orthogonalise in bfloat16."""

import numpy as np
import pytest
import torch
from rule_loops import driven, recorded

NADAM = {"lr": 0.02, "beta1": 0.8, "beta2": 0.95, "eps": 1e-6, "weight_decay": 0.1}
ADAM = {"lr": 0.02, "beta1": 0.8, "beta2": 0.95, "eps": 1e-6, "weight_decay": 0.1}
MUON = {"lr": 0.02, "beta1": 0.9, "weight_decay": 0.1}


@pytest.fixture(autouse=True)
def _default_float64():
    """torch keeps NAdam's product of mu in the default dtype."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def nadam(p, decay):
    options = {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 0.1, "decoupled_weight_decay": True}
    return torch.optim.NAdam(p, momentum_decay=decay, **options)


def adamw(p, **more):
    return torch.optim.AdamW(p, lr=0.02, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1, **more)


def followed(optimizer, steps):
    """The points that torch's optimizer reaches over the same gradients."""
    parameter, points = torch.nn.Parameter(torch.ones(steps[0].g.shape, dtype=torch.float64)), []
    theirs = optimizer([parameter])
    for s in steps:
        parameter.grad = torch.from_numpy(s.g.copy())
        theirs.step()
        points.append(parameter.detach().numpy().copy())
    return np.stack(points)


@pytest.mark.parametrize(
    ("name", "hyper", "optimizer"),
    [
        ("nadam", NADAM | {"momentum_decay": 0.0}, lambda p: nadam(p, 0.0)),
        ("nadam", NADAM | {"momentum_decay": 0.3}, lambda p: nadam(p, 0.3)),
        ("nadam", {"lr": 0.05}, lambda p: torch.optim.NAdam(p, lr=0.05)),
        ("nadam", {}, torch.optim.NAdam),
        ("nesterov", {"lr": 0.03, "beta1": 0.8}, lambda p: torch.optim.SGD(p, lr=0.03, momentum=0.8, nesterov=True)),
        ("momentum", {"lr": 0.3, "beta1": 0.8}, lambda p: torch.optim.SGD(p, lr=0.06, momentum=0.8)),
        ("adamw", ADAM, adamw),
        ("adamw", ADAM | {"weight_decay": 0.0}, lambda p: torch.optim.Adam(p, lr=0.02, betas=(0.8, 0.95), eps=1e-6)),
        ("amsgrad", ADAM, lambda p: adamw(p, amsgrad=True)),
        ("amsgrad", {}, lambda p: torch.optim.AdamW(p, amsgrad=True)),
    ],
)
def test_equal_to_torch(name, hyper, optimizer):
    steps = recorded((4, 3), hyper)
    np.testing.assert_allclose(driven(name, steps, hyper), followed(optimizer, steps), rtol=0, atol=1e-12)


def test_dampened_momentum_of_torch_is_ours_but_for_its_first_buffer():
    """torch starts at u_1 = g_1 where the average starts at (1 - beta) g_1: the gap is the sum of beta^t g_1 over the steps."""
    steps = recorded((4, 3), {"lr": 0.3, "beta1": 0.8})
    ours = driven("momentum", steps, {"lr": 0.3, "beta1": 0.8})
    theirs = followed(lambda p: torch.optim.SGD(p, lr=0.3, momentum=0.8, dampening=0.8), steps)
    late = np.cumsum(0.8 ** np.arange(1, len(steps) + 1))
    np.testing.assert_allclose(ours - theirs, 0.3 * late[:, None, None] * steps[0].g, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5)], ids=str)
@pytest.mark.parametrize(
    ("factor", "nesterov"), [("original", True), ("original", False), ("match_rms_adamw", True), ("match_rms_adamw", False)]
)
def test_muon_is_torchs(shape, factor, nesterov):
    """torch orthogonalises in bfloat16 whatever the dtype; a rounding before it may move a bfloat16, so equality is exact."""
    hyper = MUON | {"shape_factor": factor, "form": "nesterov" if nesterov else "plain", "orthogonalization": "released"}
    steps = recorded(shape, hyper)
    theirs = followed(
        lambda p: torch.optim.Muon(p, lr=0.02, momentum=0.9, weight_decay=0.1, nesterov=nesterov, adjust_lr_fn=factor), steps
    )
    np.testing.assert_allclose(driven("muon", steps, hyper), theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5)], ids=str)
def test_moonlight_is_torchs_muon_up_to_bfloat16(shape):
    """Their momenta differ by a factor, and Newton-Schulz rounds in another order: seen 0.016 of the way, bound 0.05."""
    hyper = MUON | {"orthogonalization": "released"}
    steps = recorded(shape, hyper)
    same = {"momentum": 0.9, "weight_decay": 0.1, "adjust_lr_fn": "match_rms_adamw"}
    theirs = followed(lambda p: torch.optim.Muon(p, lr=0.02, **same), steps)
    moved = np.abs(theirs[-1] - 1).max()
    exact = {key: value | {"orthogonalization": "polar"} for key, value in (("moonlight", MUON), ("muon", MUON))}
    exact["muon"] |= {"shape_factor": "match_rms_adamw"}
    polar = [driven(name, recorded(shape, chosen), chosen) for name, chosen in exact.items()]
    np.testing.assert_allclose(*polar, rtol=0, atol=1e-12)
    assert np.abs(driven("moonlight", steps, hyper) - theirs).max() < 0.05 * moved
