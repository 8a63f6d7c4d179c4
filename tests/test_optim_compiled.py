"""Large tensors run compiled, by size alone: the eager numbers, no recompilation by schedules, a fallback that says why."""

import shutil
import warnings

import pytest
import torch
from torch._dynamo.utils import counters

from marslab.errors import UsageError
from marslab.optim import AdamW, MarsAdamW, MarsLion, RuleOptimizer, compiled
from marslab.rule import rule

needs_compiler = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="there is no C++ compiler")


@pytest.fixture
def small_is_large(monkeypatch):
    """Tensors of 1000 elements count as large, so that the test is quick; graphs of other tests are forgotten."""
    monkeypatch.setattr(compiled, "LARGE", 1000)
    monkeypatch.setattr(compiled, "MEDIUM", 500)
    monkeypatch.setattr(compiled, "_graphs", {})
    monkeypatch.setattr(compiled, "_reasons", [])


def walk(make, steps, sizes=((40, 30), (1200,), (7, 100), (3,)), change=None, **options):
    """The weights after steps with seeded gradients; ``change`` (optimizer, t) acts before each step."""
    generator = torch.Generator().manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(size, generator=generator)) for size in sizes]
    optimizer = make(params, **options)
    for t in range(1, steps + 1):
        for p in params:
            p.grad = torch.randn(p.shape, generator=generator) * 3
        if change:
            change(optimizer, t)
        optimizer.step()
    return [p.detach() for p in params], optimizer


def scheduled(optimizer, t):
    """All that a schedule may change."""
    for group in optimizer.param_groups:
        group["lr"] = 1e-2 / t
        group["weight_decay"] = 0.01 * t
        group["beta1"] = 0.9 + 0.01 * t
        if "gamma" in group:
            group["gamma"] = 0.1 / t


@needs_compiler
@pytest.mark.parametrize("exact", [False, True])
def test_compiled_is_eager_and_schedules_recompile_nothing(small_is_large, exact):
    def change(optimizer, t):
        scheduled(optimizer, t)
        graphs.append(counters["stats"]["unique_graphs"])

    class Exact(MarsAdamW):
        def step(self):
            super().step(prev_grads=[0.5 * p.grad for p in self.handed])

    graphs, make = [], Exact if exact else MarsAdamW
    found, optimizer = walk(make, 6, change=change, exact=exact, gamma=0.5)
    graphs.append(counters["stats"]["unique_graphs"])
    assert not compiled._reasons and len(compiled._graphs) == 2
    assert graphs[1] > graphs[0], "the first step compiles"
    assert graphs[2:] == [graphs[2]] * 5 and graphs[2] - graphs[0] <= 3, "later steps do not"
    wanted, eager = walk(make, 6, change=lambda o, t: scheduled(o, t), exact=exact, gamma=0.5, compiled="never")
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
    for p, q in zip(optimizer.handed, eager.handed, strict=True):
        assert optimizer.state[p]["t"] == 6 and set(optimizer.state[p]) == set(eager.state[q])
        torch.testing.assert_close(optimizer.state[p]["memory"], eager.state[q]["memory"], rtol=1e-4, atol=1e-6)
    again, _ = walk(make, 6, change=lambda o, t: scheduled(o, t), exact=exact, gamma=0.5)
    assert all(torch.equal(a, b) for a, b in zip(again, found, strict=True))


@needs_compiler
def test_any_rule_compiles_and_an_infinite_radius_is_a_branch(small_is_large):
    for make in (lambda p, **o: MarsLion(p, clip_radius=float("inf"), **o), lambda p, **o: RuleOptimizer(p, "qhm", **o), AdamW):
        found, _ = walk(make, 3)
        assert not compiled._reasons
        torch.testing.assert_close(found, walk(make, 3, compiled="never")[0], rtol=1e-5, atol=1e-6)


def test_what_cannot_be_compiled_runs_eagerly_and_says_why_once(small_is_large):
    @rule(memory=("m",))
    def stubborn(x, state, g, *, lr=0.1):
        if torch.compiler.is_compiling():
            raise RuntimeError("no such operation")
        return x - lr * g, dict(m=g)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found, _ = walk(lambda p: RuleOptimizer(p, stubborn), 3)
    told = [str(w.message) for w in seen if issubclass(w.category, RuntimeWarning)]
    assert len(told) == 1 and "run without torch.compile" in told[0]
    wanted, _ = walk(lambda p: RuleOptimizer(p, stubborn, compiled="never"), 3)
    assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_small_tensors_never_wait_for_a_compiler(monkeypatch):
    monkeypatch.setattr(compiled, "graph", lambda *_: pytest.fail("compiled"))
    walk(MarsAdamW, 1, sizes=((1 << 10, 1000),))
    walk(MarsAdamW, 1, sizes=((2, 2), (1 << 15,)))


def test_words_of_the_option():
    with pytest.raises(UsageError, match="compiled = 'always' is unknown"):
        AdamW([torch.nn.Parameter(torch.ones(2))], compiled="always")


def test_large_norms_are_accurate():
    """The norm of a million and more float32 numbers, as the compiled pass takes it, against float64."""
    if not shutil.which("g++"):
        pytest.skip("there is no C++ compiler")
    p = torch.nn.Parameter(torch.zeros((1 << 20) + 5))
    optimizer = MarsAdamW([p], clip_radius=1.0)
    p.grad = torch.full_like(p, 0.1)
    optimizer.step()
    m, norm = optimizer.state[p]["memory"]["m"].double(), 0.1 * p.numel() ** 0.5
    torch.testing.assert_close(m, torch.full_like(m, 0.05 * 0.1 / norm), rtol=1e-5, atol=0)
