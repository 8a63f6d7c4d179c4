"""Resume is equal bit for bit on the CPU: every rule, random hyper-parameters and save points, through a file."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from optim_cases import loss_of, network, same, train, weights

from marslab.kinds import is_number
from marslab.optim import MarsAdamW, RuleOptimizer
from marslab.optimizers import RULES
from marslab.rule import RANGES

ON_MODULES = {name: rule for name, rule in RULES.items() if set(rule.needs) <= {"large_batch"}}


def values_of(name, default):
    """A strategy for a hyper-parameter: its default or values spread over its range."""
    low, high = RANGES.get(name, (-1.0, 1.0))[:2]
    spread = [default, default * 0.5, min(max(default * 1.5, low), 0.97 if high == 1 else max(default * 1.5, low))]
    return st.sampled_from([v for v in spread if low <= v <= high])


def hyper_of(rule):
    """A strategy for all hyper-parameters of a rule."""
    numbers = {name: values_of(name, value) for name, value in rule.hyper.items() if is_number(value)}
    words = {name: st.sampled_from(sorted(words)) for name, words in rule.options.items()}
    return st.fixed_dictionaries(numbers | words)


def run(model, optimizer, scheduler, begin, end):
    """Train with dropout, a schedule, and a parameter without gradients at every third step."""
    for t in range(begin, end + 1):

        def closure(t=t):
            optimizer.zero_grad()
            loss = loss_of(model, t)
            loss.backward()
            if t % 3 == 0:
                model[0].bias.grad = None
            return loss

        optimizer.step(closure)
        scheduler.step()


def started(rule, dtype, options):
    """A model, its optimizer and a scheduler of all that can be scheduled."""
    model = network(0.3).to(dtype)
    fallback = {"fallback": "adamw"} if rule.matrix else {}
    optimizer = RuleOptimizer(model.named_parameters(), rule, **fallback, **options)
    return model, optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 1 / (1 + t))


@pytest.mark.parametrize("rule", ON_MODULES.values(), ids=ON_MODULES)
@settings(max_examples=8)
@given(data=st.data())
def test_resume_is_bitwise(rule, data):
    hyper = data.draw(hyper_of(rule))
    options = {"first": data.draw(st.sampled_from(["equal", "zero"])), "maximize": data.draw(st.booleans())}
    if len(rule.modes) == 2:
        options["exact"] = data.draw(st.booleans())
    if rule.clipped:
        options["clip_scope"] = data.draw(st.sampled_from(["tensor", "global"]))
    options["rounding"] = data.draw(st.sampled_from(["master", "stochastic"]))
    dtype = data.draw(st.sampled_from([torch.float64, torch.float32, torch.bfloat16]))
    cut, end = data.draw(st.integers(0, 5)), 6
    torch.manual_seed(data.draw(st.integers(0, 99)))
    parts = started(rule, dtype, hyper | options)
    cast(parts[0], dtype)
    run(*parts, 1, cut)
    file, states = io.BytesIO(), torch.get_rng_state()
    torch.save([part.state_dict() for part in parts], file)
    run(*parts, cut + 1, end)
    torch.manual_seed(7)
    again = started(rule, dtype, options)
    cast(again[0], dtype)
    file.seek(0)
    for part, saved in zip(again, torch.load(file, weights_only=True), strict=True):
        part.load_state_dict(saved)
    torch.set_rng_state(states)
    run(*again, cut + 1, end)
    same(weights(again[0]), weights(parts[0]), tolerance=0)


def cast(model, dtype):
    """Let the model take the float64 batches and give float64 outputs."""
    model.register_forward_pre_hook(lambda _, inputs: tuple(x.to(dtype) for x in inputs))
    model.register_forward_hook(lambda _, __, out: out.double())


CHILD = """
import sys, torch
from optim_cases import network, train, weights
from marslab.optim import MarsAdamW
model = network(0.5)
optimizer = MarsAdamW(model, lr=0.01, gamma=0.4, exact=sys.argv[2] == "exact", buffers=model)
saved = torch.load(sys.argv[1], weights_only=True)
model.load_state_dict(saved["model"]), optimizer.load_state_dict(saved["optimizer"]), torch.set_rng_state(saved["random"])
train(model, optimizer, 4, begin=5)
torch.save(weights(model), sys.argv[1])
"""


@pytest.mark.parametrize("mode", ["exact", "approximate"])
def test_o1_resume_in_another_process(tmp_path, mode):
    torch.manual_seed(3)
    model = network(0.5)
    optimizer = MarsAdamW(model, lr=0.01, gamma=0.4, exact=mode == "exact", buffers=model)
    train(model, optimizer, 4)
    file = tmp_path / "checkpoint.pt"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "random": torch.get_rng_state()}, file)
    wanted = train(model, optimizer, 4, begin=5)
    done = subprocess.run([sys.executable, "-c", CHILD, str(file), mode], capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    same(torch.load(file, weights_only=True), wanted, tolerance=0)


def environment():
    """Tests and library on the path, threads as here."""
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parent), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(torch.get_num_threads())}
