"""The ready-made optimizers follow torch's conventions and torch's numbers."""

import copy
import io
import pickle

import pytest
import torch
from optim_cases import closure_of, loss_of, network, same, train, weights

from marslab.errors import UsageError
from marslab.optim import AdamW, Lion, MarsAdamW, MarsLion, MarsShampoo, Muon, RuleOptimizer, Shampoo, describe

CLASSES = [MarsAdamW, MarsLion, MarsShampoo, AdamW, Lion, Muon, Shampoo]
every_class = pytest.mark.parametrize("make", CLASSES, ids=lambda c: c.__name__)
MATRIX = (MarsShampoo, Muon, Shampoo)


def parameter(*shape, value=1.0, **options):
    return torch.nn.Parameter(torch.full(shape, value, dtype=torch.float64), **options)


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("options", [dict(lr=1e-2, weight_decay=0.1, betas=(0.8, 0.95)), {}, dict(eps=1e-3)])
def test_adamw_is_torchs(amsgrad, maximize, options):
    model, other = network(), network()
    mine = AdamW(model.parameters(), amsgrad=amsgrad, maximize=maximize, **options)
    torchs = torch.optim.AdamW(other.parameters(), amsgrad=amsgrad, maximize=maximize, **options)
    same(train(model, mine, 50), train(other, torchs, 50))


def test_sgd_is_torchs():
    model, other = network(), network()
    same(train(model, RuleOptimizer(model, "sgd", lr=0.1), 50), train(other, torch.optim.SGD(other.parameters(), lr=0.1), 50))


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this torch has no Muon")
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5), (1, 3), (3, 1)])
@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize("adjust", [None, "match_rms_adamw"])
def test_muon_is_torchs(shape, nesterov, adjust):
    generator = torch.Generator().manual_seed(0)
    ours, theirs = parameter(*shape), parameter(*shape)
    options = dict(lr=0.02, weight_decay=0.1, momentum=0.9, nesterov=nesterov, adjust_lr_fn=adjust)
    mine, torchs = Muon([ours], orthogonalization="released", **options), torch.optim.Muon([theirs], **options)
    for _ in range(10):
        ours.grad = torch.randn(shape, generator=generator, dtype=torch.float64)
        theirs.grad = ours.grad.clone()
        mine.step(), torchs.step()
        same([ours], [theirs])


@every_class
def test_closure_hooks_and_schedulers(make):
    model, seen = network(), []
    optimizer = make(model.parameters(), lr=1e-3)
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    before = weights(model)
    loss = optimizer.step(closure_of(model, optimizer, 1))
    scheduler.step()
    assert loss.item() > 0 and seen == ["before", "after"]
    assert optimizer.param_groups[0]["lr"] < 1e-3 and optimizer.param_groups[0]["initial_lr"] == 1e-3
    assert all((a != b).any() for a, b in zip(before, weights(model), strict=True))
    optimizer.zero_grad()
    assert all(p.grad is None for p in model.parameters())


@every_class
def test_modules_names_and_plain_parameters_walk_alike(make):
    paths = []
    for params in (
        lambda m: m,
        lambda m: m.parameters(),
        lambda m: m.named_parameters(),
        lambda m: [{"params": m.parameters()}],
    ):
        model = network()
        paths.append(train(model, make(params(model)), 4))
    for path in paths[1:]:
        same(path, paths[0], tolerance=0)


@every_class
def test_deepcopy_and_pickle_go_on_alike(make):
    model = network()
    optimizer = make(model, lr=1e-2, nonfinite="skip")
    train(model, optimizer, 3)
    copies = [copy.deepcopy([model, optimizer]), pickle.loads(pickle.dumps([model, optimizer]))]
    wanted = train(model, optimizer, 3, begin=4)
    for one, its in copies:
        assert type(its) is make and its.settings == optimizer.settings
        same(train(one, its, 3, begin=4), wanted, tolerance=0)


@every_class
def test_late_groups(make):
    model = network()
    optimizer = make(model[0].parameters())
    train(model, optimizer, 2)
    optimizer.add_param_group({"params": model[3].parameters(), "lr": 0.5})
    before = weights(model[3])
    train(model, optimizer, 3, begin=3)
    assert all((a != b).any() for a, b in zip(before, weights(model[3]), strict=True))
    assert [optimizer.state[p]["t"] for p in model.parameters()] == [5, 5, 3, 3]


def test_groups_take_betas_and_every_hyper_parameter_of_their_own():
    first, second = parameter(2, 2), parameter(2, 2)
    optimizer = MarsAdamW([{"params": [first], "betas": (0.5, 0.6), "gamma": 0.7}, {"params": [second], "clip_radius": 3.0}])
    chosen = [{name: group[name] for name in ("beta1", "beta2", "gamma", "clip_radius")} for group in optimizer.param_groups]
    assert chosen[0] == {"beta1": 0.5, "beta2": 0.6, "gamma": 0.7, "clip_radius": 1.0}
    assert chosen[1] == {"beta1": 0.95, "beta2": 0.99, "gamma": 0.025, "clip_radius": 3.0}
    optimizer.param_groups[0]["gamma"] = 0.1
    again = MarsAdamW([{"params": [first]}, {"params": [second]}])
    again.load_state_dict(optimizer.state_dict())
    assert [group["gamma"] for group in again.param_groups] == [0.1, 0.025]


class Language(torch.nn.Module):
    """An embedding tied to the head, a matrix, a norm."""

    def __init__(self, tied=True):
        super().__init__()
        self.wte = torch.nn.Embedding(7, 4)
        self.words = torch.nn.Embedding(3, 4)
        self.middle = torch.nn.Linear(4, 4)
        self.filters = torch.nn.Conv1d(4, 4, 3, padding=1)
        self.lm_head = torch.nn.Linear(4, 7, bias=False)
        if tied:
            self.lm_head.weight = self.wte.weight
        self.double()

    def forward(self, ids):
        h = self.middle(self.wte(ids) + self.words(ids % 3))
        return self.lm_head(self.filters(h.mT).mT)


@pytest.mark.parametrize("make", MATRIX)
@pytest.mark.parametrize("tied", [True, False])
def test_embeddings_and_head_go_to_the_fallback(make, tied):
    model = Language(tied)
    optimizer = make(model, fallback_options={"lr": 3e-4})
    names = [group["param_names"] for group in optimizer.param_groups]
    heads = [] if tied else ["lm_head.weight"]
    assert names == [
        ["middle.weight", "filters.weight"],
        ["wte.weight", "words.weight", "middle.bias", "filters.bias", *heads],
    ]
    assert [group["rule"] for group in optimizer.param_groups][1] == "adamw" and optimizer.param_groups[1]["lr"] == 3e-4
    by_name = make(model.named_parameters())
    assert "wte.weight" in by_name.param_groups[1]["param_names"]
    assert len(make(model.named_parameters(), exclude=()).param_groups[1]["params"]) == 2
    assert "middle.weight" in make(model, exclude=["middle"]).param_groups[1]["param_names"]
    assert len(make(model.parameters()).param_groups[0]["params"]) == (4 if tied else 5)


@pytest.mark.parametrize("method", ["newton_schulz", "released", "polar"])
def test_orthogonalizations_lie_near_the_polar_factor(method):
    generator = torch.Generator().manual_seed(0)
    for make in (MarsShampoo, Muon):
        p = torch.nn.Parameter(torch.zeros(4, 6, dtype=torch.float64))
        optimizer = make([p], lr=1.0, orthogonalization=method)
        p.grad = torch.randn(4, 6, generator=generator, dtype=torch.float64)
        optimizer.step()
        values = torch.linalg.svdvals(p.detach())
        low, high = (1 - 1e-12, 1 + 1e-12) if method == "polar" else (0.65, 1.25)
        assert low < values.min() and values.max() < high


def test_describe_says_rule_options_and_numbers():
    model = network()
    text = describe(MarsShampoo(model, gamma=0.1, fallback_options={"lr": 3e-4}))
    assert str(text) == repr(text)
    for part in ("MarsShampoo", "mars_shampoo (approximate, first=equal)", "gamma=0.1", "orthogonalization=newton_schulz",
                 "adamw (one gradient)", "lr=0.0003", "'0.weight': 24 weights (6, 4), 48 numbers of state (m 24 +",
                 "'0.bias': 6 weights (6,), 14 numbers of state", "skipped steps: 0"):  # fmt: skip
        assert part in text, part


@pytest.mark.parametrize("make", CLASSES)
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_state_is_what_describe_says(make, exact, dtype):
    if exact and not make.__name__.startswith("Mars"):
        pytest.skip("has no exact form")
    model = network().to(dtype)
    optimizer = make(model, **({"exact": True} if exact else {}))
    for t in (1, 2):

        def closure(t=t):
            optimizer.zero_grad()
            loss = sum((p * p).sum() for p in model.parameters()) * t
            loss.backward()
            return loss

        optimizer.step(closure)
    from marslab.optim.report import numbers_of

    for group in optimizer.param_groups:
        for p in group["params"]:
            state = optimizer.state[p]
            tensors = [*state["memory"].values(), *(v for v in state.values() if torch.is_tensor(v))]
            assert sum(v.numel() for v in tensors) == sum(numbers_of(optimizer, p, group).values())
            assert all(v.dtype in (torch.float32, torch.float64) or v is state.get("last") for v in tensors)


@pytest.mark.parametrize(
    "attempt, sentence",
    [
        (lambda p: MarsAdamW([p], betas=(0.9, 1.0)), "beta2 = 1 lies outside"),
        (lambda p: MarsAdamW([p], betas=0.9), "betas = 0.9 must be one or two numbers"),
        (lambda p: MarsAdamW([p], gama=0.1), "did you mean 'gamma'"),
        (lambda p: MarsAdamW([p], nonfinite="ignore"), "nonfinite = 'ignore' is unknown"),
        (lambda p: Muon([p], betas=(0.9, 0.9)), "no betas"),
        (lambda p: Shampoo([p], betas=(0.9,)), "no betas"),
        (lambda p: Shampoo([p], statistics="mean"), "statistics = 'mean' is unknown"),
        (lambda p: MarsShampoo([p], orthogonalization="svd"), "orthogonalization = 'svd' is unknown"),
        (lambda p: RuleOptimizer([p]), "names no rule"),
        (lambda p: RuleOptimizer([p], "mars", buffers=3), "buffers = 3 is no module"),
    ],
)
def test_refusals(attempt, sentence):
    with pytest.raises(UsageError, match=sentence):
        attempt(parameter(2, 2))


def test_groups_alone_make_an_optimizer():
    model, other = network(), network()
    groups = [{"params": model[0].parameters(), "rule": "sgd", "lr": 0.1}, {"params": model[3].parameters(), "rule": "lion"}]
    optimizer = RuleOptimizer(groups)
    parts = [RuleOptimizer(other[0], "sgd", lr=0.1), RuleOptimizer(other[3], "lion")]
    for t in (1, 2, 3):
        for one, steppers in ((model, [optimizer]), (other, parts)):
            one.zero_grad()
            loss_of(one, t).backward()
            for stepper in steppers:
                stepper.step()
    same(weights(model), weights(other), tolerance=0)
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    optimizer.load_state_dict(torch.load(file, weights_only=True))


@pytest.mark.parametrize("first, last", [(0.0, 0.3), (0.3, 0.0)])
def test_a_scheduled_gamma_acts(first, last):
    """gamma = 0 is AdamW without history; a change in a group acts at the very next step."""
    p, q = parameter(3), parameter(3)
    one, two = MarsAdamW([p], gamma=first, clip_radius=float("inf")), MarsAdamW([q], gamma=last, clip_radius=float("inf"))
    for value in (0.1, 0.4):
        p.grad, q.grad = torch.full_like(p, value), torch.full_like(q, value)
        one.step(), two.step()
    assert (p != q).any()
    one.param_groups[0]["gamma"] = last
    for optimizer, other in ((one, p), (two, q)):
        corrected = 0.2 + last * 19 * (0.2 - 0.4)
        before = optimizer.state[other]["memory"]["m"].clone()
        other.grad = torch.full_like(other, 0.2)
        optimizer.step()
        torch.testing.assert_close(optimizer.state[other]["memory"]["m"], 0.95 * before + 0.05 * corrected, rtol=1e-12, atol=0)
