"""Inputs on which public optimizers failed, and the right answer for each; the numbers name cases M (MARS) and O (any)."""

import io
import warnings

import pytest
import torch
from optim_cases import closure_of, loss_of, network, same, train, weights

from marslab.errors import UsageError
from marslab.optim import AdamW, Lion, MarsAdamW, MarsLion, MarsShampoo, NonFiniteGradient, RuleOptimizer, describe, released

MARS = [MarsAdamW, MarsLion, MarsShampoo]
every_mars = pytest.mark.parametrize("make", MARS)


def tensor(*values, dtype=torch.float64):
    return torch.nn.Parameter(torch.tensor(values, dtype=dtype))


def kick(optimizer, *gradients):
    """One step with the given gradients of all parameters, in order."""
    for p, gradient in zip(optimizer.handed, gradients, strict=True):
        p.grad = None if gradient is None else torch.as_tensor(gradient, dtype=p.dtype).expand_as(p).clone()
    optimizer.step()


@every_mars
@pytest.mark.parametrize("how", ["none", "zero", "multiply", "reuse"])
def test_m1_the_previous_gradient_is_a_copy(make, how):
    def walk(how):
        torch.manual_seed(0)
        p, targets = torch.nn.Parameter(torch.ones(3, 3, dtype=torch.float64)), torch.randn(5, 3, 3, dtype=torch.float64)
        optimizer, gaps = make([p], gamma=0.5), []
        for target in targets:
            (p - target).square().sum().backward()
            g = p.grad.clone()
            if "previous" in optimizer.state[p]:
                gaps.append((g - optimizer.state[p]["previous"]).norm().item())
            optimizer.step()
            if how == "none":
                optimizer.zero_grad(set_to_none=True)
            elif how == "zero":
                optimizer.zero_grad(set_to_none=False)
            else:
                p.grad.mul_(0) if how == "multiply" else p.grad.data.copy_(torch.zeros_like(g))
        assert len(gaps) == 4 and min(gaps) > 0
        return p.detach()

    assert torch.equal(walk(how), walk("none"))


@every_mars
def test_m2_the_first_step_is_neither_corrected_nor_unclipped(make):
    for size, clipped in ((0.2, 0.2), (50.0, 1.0)):
        p = torch.nn.Parameter(torch.zeros(2, 2, dtype=torch.float64))
        optimizer = make([p])
        kick(optimizer, size / 2)
        torch.testing.assert_close(optimizer.state[p]["memory"]["m"].norm().item(), 0.05 * clipped, rtol=1e-14, atol=0)


@pytest.mark.parametrize("make", [*MARS, AdamW, Lion])
def test_m3_a_zero_rate_is_a_rate(make):
    matrix, vector = tensor([1.0, 1.0], [1.0, 1.0]), tensor(1.0, 1.0)
    rest = {"fallback_options": {"lr": 0.0}} if make is MarsShampoo else {}
    optimizer = make([{"params": [matrix]}, {"params": [vector]}], lr=0.0, **rest)
    kick(optimizer, 1.0, 1.0)
    assert torch.equal(matrix, torch.ones_like(matrix)) and torch.equal(vector, torch.ones_like(vector))
    for group in optimizer.param_groups:
        group["lr"] = 6e-3
    kick(optimizer, 1.0, 1.0)
    assert (matrix != 1).all() and (vector != 1).all()


def test_m9_no_gradients_at_all():
    p = tensor(1.0)
    for optimizer in (MarsAdamW([p]), released([p]), MarsAdamW([{"params": []}]), MarsShampoo([{"params": []}])):
        assert optimizer.step() is None
        assert not optimizer.state and optimizer.state_dict()["state"] == {}
    assert MarsAdamW([p]).step(lambda: 3.0) == 3.0
    assert RuleOptimizer([p], "mars", exact=True).step(lambda: 3.0) == 3.0


@pytest.mark.parametrize("make", [*MARS, AdamW, Lion])
def test_m10_a_group_without_decay_is_not_decayed(make):
    matrix, vector = tensor([1.0, 1.0], [1.0, 1.0]), tensor(1.0, 1.0)
    rest = {"fallback_options": {"lr": 1.0}} if make is MarsShampoo else {}
    optimizer = make([{"params": [matrix], "weight_decay": 0.1}, {"params": [vector], "weight_decay": 0.0}], lr=1.0, **rest)
    kick(optimizer, 0.0, 0.0)
    torch.testing.assert_close(matrix.detach(), torch.full_like(matrix, 0.9), rtol=1e-15, atol=0)
    assert torch.equal(vector, torch.ones_like(vector))


def test_m10_an_explicit_decay_of_the_rest_is_used():
    matrix, vector = tensor([1.0, 1.0], [1.0, 1.0]), tensor(1.0, 1.0)
    optimizer = MarsShampoo([matrix, vector], lr=1.0, weight_decay=0.1, fallback_options={"lr": 1.0, "weight_decay": 0.5})
    kick(optimizer, 0.0, 0.0)
    torch.testing.assert_close(vector.detach(), torch.full_like(vector, 0.5), rtol=1e-15, atol=0)
    kick(released([vector], lr=1.0, lr_1d=1.0, weight_decay=0.0, weight_decay_1d=0.5), 0.0)
    torch.testing.assert_close(vector.detach(), torch.full_like(vector, 0.25), rtol=1e-15, atol=0)


@pytest.mark.parametrize("exact", [False, True])
def test_m12_accumulation_divided_is_the_whole_batch(exact):
    def walk(parts, make, scale=1.0):
        model = network()
        optimizer = make(model)
        for t in range(1, 11):

            def closure(t=t):
                optimizer.zero_grad()
                generator = torch.Generator().manual_seed(t)
                rows = [torch.randn(8, k, generator=generator, dtype=torch.float64).chunk(parts) for k in (4, 2)]
                losses = [(model(x) - y).square().mean() * scale / parts for x, y in zip(*rows, strict=True)]
                for loss in losses:
                    loss.backward()
                return sum(losses)

            optimizer.step(closure)
        return weights(model)

    def mars(m):
        return MarsAdamW(m, exact=exact, lr=0.01, gamma=0.4)

    same(walk(4, mars), walk(1, mars))
    adam_gap, mars_gap = (
        max((a - b).abs().max().item() for a, b in zip(walk(1, make, 4.0), walk(1, make), strict=True))
        for make in (lambda m: AdamW(m, lr=0.01, eps=0.0), mars)
    )
    assert adam_gap < 1e-12 and mars_gap > 1e-4  # once the clip acts, MARS is not scale invariant


def test_m15_the_recursion():
    p = tensor(0.0)
    optimizer, seen = MarsAdamW([p], clip_radius=float("inf")), []
    for g in (1.0, 0.5, 0.25, -0.5):
        before = optimizer.state[p]["memory"]["m"].item() if p in optimizer.state else 0.0
        kick(optimizer, g)
        seen.append((optimizer.state[p]["memory"]["m"].item() - 0.95 * before) / 0.05)
    assert seen == pytest.approx([1.0, 0.2625, 0.13125, -0.85625], rel=1e-12)
    model, other = network(), network()
    free = dict(lr=0.01, gamma=0.0, clip_radius=float("inf"), weight_decay=0.1)
    same(
        train(model, MarsAdamW(model, **free), 20),
        train(other, AdamW(other, lr=0.01, betas=(0.95, 0.99), weight_decay=0.1), 20),
    )
    model, other = network(), network()
    mars = RuleOptimizer(model, "mars", exact=True, gamma=1.0, beta1=0.9, lr=0.05, first="zero")
    same(train(model, mars, 20), train(other, RuleOptimizer(other, "storm", beta1=0.9, lr=0.05), 20))


@pytest.mark.parametrize("make", [*MARS, AdamW, Lion])
@pytest.mark.parametrize("exact", [False, True])
def test_m18_maximize_leaves_the_gradient_alone(make, exact):
    if exact and make in (AdamW, Lion):
        pytest.skip("has no exact form")
    p, q = (torch.nn.Parameter(torch.zeros(2, 2, dtype=torch.float64)) for _ in range(2))
    up, down = make([p], maximize=True, **({"exact": True} if exact else {})), make([q], **({"exact": True} if exact else {}))
    p.grad, q.grad = torch.full((2, 2), 0.1, dtype=torch.float64), torch.full((2, 2), 0.1, dtype=torch.float64)
    for t in (1.0, 2.0):
        before, prev = p.detach().clone(), torch.full((2, 2), 0.05 * t, dtype=torch.float64)
        for optimizer in (up, down):
            optimizer.step(**({"prev_grads": [prev]} if exact else {}))
        assert torch.equal(p.grad, torch.full((2, 2), 0.1, dtype=torch.float64)) and (prev == 0.05 * t).all()
        assert ((p - before) * p.grad).sum() > 0
    assert torch.equal(p, -q)


@pytest.mark.parametrize("make", [*MARS, AdamW, Lion])
def test_o3_nothing_is_shared_with_a_state_dict(make):
    models = [network() for _ in range(3)]
    a, b, c = (make(model) for model in models)
    train(models[0], a, 3)
    s = a.state_dict()
    file = io.BytesIO()
    torch.save(s, file)
    b.load_state_dict(s)
    c.load_state_dict(s)
    train(models[1], b, 2)
    train(models[0], a, 2)
    file.seek(0)
    fresh = torch.load(file, weights_only=True)
    for found in (s, c.state_dict()):
        assert flat(found["state"]) == flat(fresh["state"])


def flat(value):
    """A nest with tensors as lists, so that it can be compared."""
    if torch.is_tensor(value):
        return value.tolist()
    if isinstance(value, dict):
        return {key: flat(entry) for key, entry in value.items()}
    return value


@pytest.mark.parametrize("make", [Lion, MarsLion, MarsAdamW])
def test_o6_lanes_equal_the_loop_bit_for_bit(make):
    """Parameters of one shape run as one call; gradients with exact zeros and tiny values, 36 settings."""
    for seed in range(36):
        generator = torch.Generator().manual_seed(seed)
        dtype, shape = (torch.float64, torch.float32)[seed % 2], [(), (5,), (768,), (40, 50)][seed % 4]
        starts = torch.randn(4, 3, *shape, generator=generator, dtype=dtype)
        starts[torch.rand(starts.shape, generator=generator) < 0.3] = 0.0
        starts[torch.rand(starts.shape, generator=generator) < 0.3] = 1e-8 * (-1) ** seed
        together = [torch.nn.Parameter(start.clone()) for start in starts[0]]
        alone = [torch.nn.Parameter(start.clone()) for start in starts[0]]
        options = dict(lr=10.0 ** -(seed % 3), weight_decay=0.1 * (seed % 2))
        batch, singles = make(together, **options), [make([p], **options) for p in alone]
        for gradients in starts[1:]:
            for p, q, g in zip(together, alone, gradients, strict=True):
                p.grad, q.grad = g.clone(), g.clone()
            for optimizer in (batch, *singles):
                optimizer.step()
            for p, q in zip(together, alone, strict=True):
                assert torch.equal(p, q)
    p = tensor(1.0)
    optimizer = make([p])
    kick(optimizer, 0.0)
    assert p.item() == 1.0  # sign(0) = 0


@every_mars
@pytest.mark.parametrize("frozen", ["requires_grad", "no gradient"])
def test_o7_previous_gradients_stay_with_their_parameter(make, frozen):
    params = [torch.nn.Parameter(torch.ones(shape, dtype=torch.float64)) for shape in ((2, 3), (4, 4), (3, 2))]
    if frozen == "requires_grad":
        params[1].requires_grad_(False)
    optimizer = make(params)
    for scale in (1.0, 2.0):
        for place in (0, 2):
            params[place].grad = torch.full_like(params[place], scale * (place + 1))
        optimizer.step()
        for place in (0, 2):
            assert torch.equal(optimizer.state[params[place]]["previous"], params[place].grad)
    assert params[1] not in optimizer.state


def test_o9_tied_weights_are_one_parameter():
    wte = torch.nn.Embedding(4, 3).double()
    head = torch.nn.Linear(3, 4, bias=False).double()
    head.weight = wte.weight
    groups = [{"params": [wte.weight], "weight_decay": 0.1}, {"params": [head.weight], "weight_decay": 0.0}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer = MarsAdamW(groups)
        twice = MarsAdamW([wte.weight, head.weight])
    assert [len(group["params"]) for group in optimizer.param_groups] == [1, 0] and len(twice.handed) == 1
    head(wte(torch.tensor([1, 2]))).sum().backward()
    optimizer.step()
    assert optimizer.state[wte.weight]["t"] == 1 and len(optimizer.state) == 1
    assert optimizer.param_groups[0]["weight_decay"] == 0.1


@pytest.mark.parametrize("bad", [float("inf"), -float("inf"), float("nan")])
@pytest.mark.parametrize("make", [*MARS, AdamW, Lion])
@pytest.mark.parametrize("where", ["gradient", "earlier"])
def test_o10_policies_on_inf_and_nan(make, bad, where):
    exact = where == "earlier"
    if exact and make in (AdamW, Lion):
        pytest.skip("has no exact form")

    def walk(policy, gradients):
        params = [torch.nn.Parameter(torch.ones(2, 2, dtype=torch.float64)) for _ in range(2)]
        optimizer = make(params, nonfinite=policy, **({"exact": True} if exact else {}))
        for t, g in enumerate(gradients):
            for p in params:
                p.grad = torch.full_like(p, 0.1 * (t + 1))
            prev = [torch.full_like(p, 0.05) for p in params]
            (prev if exact else [p.grad for p in params])[1][0, 1] = g
            before = flat(optimizer.state_dict()["state"])
            optimizer.step(**({"prev_grads": prev} if exact else {}))
            if g != g or abs(g) > 1e30:
                assert (flat(optimizer.state_dict()["state"]) == before) == (policy == "skip")
        return params, optimizer

    params, optimizer = walk("skip", [1.0, bad, 2.0])
    assert optimizer.skipped == 1 and all(torch.isfinite(p).all() for p in params)
    assert optimizer.state[params[0]]["t"] == 2 and "skipped steps: 1" in describe(optimizer)
    again = make(list(params), nonfinite="skip", **({"exact": True} if exact else {}))
    again.load_state_dict(optimizer.state_dict())
    assert again.skipped == 1
    with pytest.raises(NonFiniteGradient, match="parameter 1 of shape"):
        walk("raise", [1.0, bad])
    if bad != bad:
        assert torch.isnan(walk("pass", [1.0, bad])[0][1]).any() or make in (Lion, MarsLion)


def test_o13_empty_tensors():
    for make in (MarsAdamW, MarsShampoo, AdamW):
        params = [torch.nn.Parameter(torch.zeros(shape)) for shape in ((0,), (0, 4), (2, 2))]
        optimizer = make(params)
        kick(optimizer, 1.0, 1.0, 1.0)
        saved = optimizer.state_dict()
        make(params).load_state_dict(saved)
        assert len(saved["state"]) == 1


def test_o15_state_dicts_at_any_time():
    model = network()
    optimizer = MarsAdamW(model.named_parameters())
    empty = optimizer.state_dict()
    MarsAdamW(network().named_parameters()).load_state_dict(empty)
    train(model, optimizer, 1)
    MarsAdamW(network().named_parameters()).load_state_dict(optimizer.state_dict())
    optimizer.param_groups[0]["params"][0] = torch.nn.Parameter(torch.zeros(6, 4, dtype=torch.float64))
    later = optimizer.state_dict()
    assert len(later["state"]) == 3
    MarsAdamW(network().named_parameters()).load_state_dict(later)
    train(model, optimizer, 1)


@pytest.mark.parametrize(
    "other, sentence",
    [
        (lambda: [*network().named_parameters(), ("extra", tensor(1.0))], "it has 'extra', which is unknown here"),
        (lambda: [(f"{n}x" if n == "3.bias" else n, p) for n, p in network().named_parameters()], "'3.biasx' stands where"),
        (lambda: list(network().named_parameters())[::-1], "'3.bias' stands where this optimizer has '0.weight'"),
    ],
)
def test_o15_an_unknown_parameter_is_named(other, sentence):
    theirs = MarsAdamW(other())
    kick(theirs, *[1.0] * len(theirs.handed))
    with pytest.raises(UsageError, match=sentence):
        MarsAdamW(network().named_parameters()).load_state_dict(theirs.state_dict())


def test_o15_state_of_another_shape_is_refused():
    theirs = MarsAdamW([tensor([1.0, 2.0])])
    kick(theirs, 1.0)
    with pytest.raises(UsageError, match=r"parameter 0 of shape \(2,\) belongs to a tensor of shape \(1, 2\)"):
        MarsAdamW([tensor(1.0, 2.0)]).load_state_dict(theirs.state_dict())


def test_wrapped_names_load():
    model = network()
    wrapped = [(f"module._orig_mod.{name}", p) for name, p in model.named_parameters()]
    optimizer = MarsAdamW(wrapped)
    train(model, optimizer, 1)
    MarsAdamW(network().named_parameters()).load_state_dict(optimizer.state_dict())


def test_a_load_hook_sees_and_changes_what_is_loaded():
    model, other = network(), network()
    optimizer, again = MarsAdamW(model), MarsAdamW(other)
    train(model, optimizer, 2)

    def forget(_, saved):
        return {**saved, "state": {}}

    again.register_load_state_dict_pre_hook(forget)
    again.load_state_dict(optimizer.state_dict())
    assert not again.state


def test_a_gradient_is_accumulated_over_steps_without_zeroing():
    """Torch's convention: who does not clear, adds; the correction sees the sums."""
    model, other = network(), network()
    optimizer, by_hand, sums = MarsAdamW(model, gamma=0.4), MarsAdamW(other, gamma=0.4), None
    for t in (1, 2, 3):
        loss_of(model, t).backward()
        optimizer.step()
        grads = torch.autograd.grad(loss_of(other, t), list(other.parameters()))
        sums = grads if sums is None else [a + b for a, b in zip(sums, grads, strict=True)]
        for p, g in zip(other.parameters(), sums, strict=True):
            p.grad = g.clone()
        by_hand.step()
    same(weights(model), weights(other), tolerance=0)
    assert closure_of(model, optimizer, 1)() is not None
