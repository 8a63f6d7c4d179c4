"""Values written into live groups: torch's names act, wrong ones are refused before anything moves."""

import pytest
import torch
from optim_cases import same

from marslab.errors import UsageError
from marslab.optim import AdamW, Lion, MarsAdamW, MarsLion, MarsShampoo, Muon, Shampoo

CLASSES = [MarsAdamW, MarsLion, MarsShampoo, AdamW, Lion, Muon, Shampoo]


def parameter(*shape):
    return torch.nn.Parameter(torch.ones(shape, dtype=torch.float64))


def advanced(optimizer):
    """One step on gradients of one."""
    for p in optimizer.handed:
        p.grad = torch.ones_like(p)
    optimizer.step()


@pytest.mark.parametrize("make", CLASSES)
@pytest.mark.parametrize(
    "name, value, sentence",
    [
        ("lr", -1.0, "lr = -1 lies outside"),
        ("lr", float("nan"), "lr = nan lies outside"),
        ("lr", torch.tensor(-2.0), "lr = -2 lies outside"),
        ("lr", "0.1", "lr = '0.1' is no number; give one, for example"),
        ("lr", None, "lr = None is no number"),
        ("lr", lambda t: 0.1, r"change it in the loop, group\['lr'\]"),
        ("lr", [0.1], "no single number"),
        ("beta1", 1.0, "beta1 = 1 lies outside"),
        ("beta2", 1.5, "beta2 = 1.5 lies outside"),
        ("clip_radius", -1, "clip_radius = -1 lies outside"),
        ("second_moment", "other", "second_moment = 'other' is unknown"),
        ("form", "other", "form = 'other' is unknown"),
        ("statistics", 3, "statistics = 3 is unknown"),
        ("gama", 0.1, "did you mean 'gamma'"),
        ("maximize", "no", "maximize = 'no' must be True or False"),
        ("mode", "both", "mode = 'both' is unknown"),
        ("first", "last", "first = 'last' is unknown"),
        ("rule", "adam", "unknown rule 'adam'"),
        ("exact", True, "read at construction only"),
    ],
)
@pytest.mark.parametrize("started", [False, True])
def test_a_wrong_value_in_a_live_group_is_refused_before_anything_moves(make, name, value, sentence, started):
    optimizer = make([parameter(2, 2), parameter(3, 2)])
    optimizer.add_param_group({"params": [parameter(2, 3)]})
    group = optimizer.param_groups[1]
    if name not in group and name not in ("gama", "exact"):
        pytest.skip("has no such entry")
    if name == "gama" and "gamma" not in group:
        sentence = "has no hyper-parameter 'gama'"
    if started:
        advanced(optimizer)
    before, group[name] = [p.detach().clone() for p in optimizer.handed], value
    with pytest.raises(UsageError, match=sentence):
        advanced(optimizer)
    same(optimizer.handed, before, tolerance=0)
    assert all(state["t"] == 1 for state in optimizer.state.values()) and bool(optimizer.state) == started


def test_a_rate_written_in_place_is_looked_at_and_a_missing_value_named():
    optimizer = AdamW([parameter(2)], lr=torch.tensor(0.1))
    advanced(optimizer)
    optimizer.param_groups[0]["lr"].fill_(-1.0)
    with pytest.raises(UsageError, match="lr = -1 lies outside"):
        advanced(optimizer)
    del optimizer.param_groups[0]["lr"]
    with pytest.raises(UsageError, match="group 0 lacks 'lr'"):
        advanced(optimizer)
    for betas in (0.9, (), (0.9, "x"), (0.1, 0.2, 0.3)):
        with pytest.raises(UsageError, match="must be one or two numbers"):
            optimizer.param_groups[0]["betas"] = betas


def test_groups_of_muon_speak_torchs_names():
    optimizer = Muon([{"params": [parameter(2, 2)], "momentum": 0.5, "nesterov": False}, {"params": [parameter(2, 2)]}])
    one, two = optimizer.param_groups
    assert (one["momentum"], one["nesterov"], one["beta1"], one["form"]) == (0.5, False, 0.5, "plain")
    assert (two["momentum"], two["nesterov"]) == (0.95, True) and "momentum" in two
    two["momentum"], two["nesterov"] = 0.7, False
    assert (two["beta1"], two["form"]) == (0.7, "plain") and dict.get(two, "momentum") is None
    assert optimizer.defaults["momentum"] == 0.95 and optimizer.defaults["nesterov"] is True
    with pytest.raises(UsageError, match="nesterov = 'yes' must be True or False"):
        two["nesterov"] = "yes"
    with pytest.raises(UsageError, match=r"beta1 = 1.5 lies outside"):
        two["momentum"] = 1.5
        advanced(optimizer)
    with pytest.raises(UsageError, match="momentum and beta1 are both given"):
        Muon([{"params": [parameter(2, 2)], "momentum": 0.5, "beta1": 0.5}])


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this torch has no Muon")
def test_a_scheduled_momentum_of_muon_is_torchs():
    start = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    mine, torchs = Muon([ours], orthogonalization="released"), torch.optim.Muon([theirs], lr=2e-2, weight_decay=0.0)
    for t in range(6):
        ours.grad = torch.full_like(ours, t - 2.0) * start
        theirs.grad = ours.grad.clone()
        for optimizer in (mine, torchs):
            optimizer.param_groups[0]["momentum"] = 0.9 - 0.1 * t
            optimizer.param_groups[0]["nesterov"] = t % 2 == 0
            optimizer.step()
        same([ours], [theirs])


def test_a_second_beta_is_never_cycled_as_the_first():
    group = Shampoo([parameter(2, 2)]).param_groups[0]
    assert "betas" not in group
    with pytest.raises(ValueError, match="momentum"):
        torch.optim.lr_scheduler.OneCycleLR(Shampoo([parameter(2, 2)]), 0.1, total_steps=5)
