"""Training: every method, and the gradient of a step over micro-batches, masks, clips and precisions."""

import math
from dataclasses import replace

import pytest
import torch
from gpt2_cases import prepared, small

from marslab.gpt2 import checkpoint, step
from marslab.gpt2.data import Corpus
from marslab.gpt2.log import read_log
from marslab.gpt2.loop import train
from marslab.gpt2.model import GPT
from marslab.gpt2.parallel import Team
from marslab.gpt2.presets import METHODS
from marslab.gpt2.step import Trainer, mean_loss

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")
ALONE = Team(0, 1, torch.device("cpu"))
MODES = [(name, exact) for name, method in METHODS.items() for exact in ({False, method.has_exact})]


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("words"))


def trainer(settings, words):
    return Trainer(settings, Corpus(words, 256, settings.context), ALONE)


def gradients(one):
    """The gradients before the clip at the start."""
    one.step = 1
    one._gradient(one._parts())
    return [p.grad.clone() for p in one.model.parameters()]


@pytest.mark.parametrize("optimizer, exact", MODES)
def test_every_method_trains(words, tmp_path, optimizer, exact):
    s = small(optimizer, exact=exact, steps=25, eval_every=25, lr=0.01, context=32)
    found = train(s, tmp_path / "run", words)
    log = read_log(tmp_path / "run" / "log.jsonl")
    assert found.state == "finished" and found.step == 25 and len(log) == 25
    assert log[0]["loss"] == pytest.approx(math.log(256), abs=0.1)
    assert found.validation_loss < 5.0 and found.validation_loss == log[-1]["validation_loss"]
    assert (log[0]["lr"], log[2]["lr"]) == (0.0, 0.01)


@pytest.mark.parametrize("micro_batch", [1, 2, 3])
def test_micro_batches_give_the_gradient_of_the_batch(words, micro_batch):  # case M12
    s = small(micro_batch=6, precision="fp64", clip=0.0)
    whole, parts = gradients(trainer(s, words)), gradients(trainer(replace(s, micro_batch=micro_batch), words))
    torch.testing.assert_close(parts, whole, rtol=0, atol=1e-15)


def test_the_path_of_the_weights_does_not_depend_on_the_micro_batches(words):  # case M12
    s = small(micro_batch=6, precision="fp64", exact=True)
    one, other = trainer(s, words), trainer(replace(s, micro_batch=1), words)
    for _ in range(4):
        one.advance()
        other.advance()
    torch.testing.assert_close(list(one.model.parameters()), list(other.model.parameters()), rtol=0, atol=1e-12)


def test_the_scale_of_the_loss_matters_to_mars_and_not_to_adamw(words, monkeypatch):  # case M12
    moved = {}
    for name in ("adamw", "mars_adamw"):
        ends = []
        for scale in (1.0, 4.0):
            with monkeypatch.context() as patch:
                forward = GPT.forward
                patch.setattr(GPT, "forward", lambda *given, f=forward, scale=scale: f(*given) * scale)
                one = trainer(small(name, precision="fp64", clip=0.0, warmup=0), words)
                for _ in range(3):
                    one.advance()
                ends.append(torch.cat([p.detach().flatten() for p in one.model.parameters()]))
        moved[name] = float((ends[0] - ends[1]).abs().median())  # where gradients are far above AdamW's epsilon
    assert moved["adamw"] < 1e-6 < 1e-4 < moved["mars_adamw"], moved


def test_the_gradient_is_clipped_and_its_norm_reported(words):
    free, held = (trainer(small(precision="fp64", clip=radius), words) for radius in (0.0, 0.5))
    before, after = gradients(free), gradients(held)
    norm = torch.cat([g.flatten() for g in before]).norm()
    assert norm > 1 and float(free.norm) == pytest.approx(float(norm)) == pytest.approx(float(held.norm))
    torch.testing.assert_close(after, [g * 0.5 / norm for g in before], rtol=1e-5, atol=0)


def test_exact_mode_grades_the_same_micro_batches_with_the_same_masks(words):
    """Where the weights stand still, both gradients are equal: the correction is zero, so MARS walks like AdamW on c = g."""
    one = trainer(small(exact=True, dropout=0.3, precision="fp64", lr=0.0, lr_1d=0.0), words)
    seen, step_ = [], one._gradient
    one._gradient = lambda parts: (step_(parts), seen.append([p.grad.clone() for p in one.model.parameters()]))[0]
    for _ in range(3):
        one.advance()
    assert len(seen) == 1 + 2 + 2  # the first step has no earlier weights
    for earlier, here in ((1, 2), (3, 4)):
        assert all(torch.equal(a, b) for a, b in zip(seen[earlier], seen[here], strict=True))
    assert not torch.equal(seen[0][0], seen[2][0])


def test_masks_differ_between_micro_batches_and_leave_the_global_state(words):
    one, before = trainer(small(dropout=0.3), words), torch.get_rng_state()
    one.advance()
    assert torch.equal(before, torch.get_rng_state())
    assert len({step.mask_seed(0, t, k) for t in range(50) for k in range(50)}) == 2500


def test_bf16_keeps_float32_weights(words, tmp_path):
    found = train(small(precision="bf16"), tmp_path / "run", words)
    weights = checkpoint.newest(tmp_path / "run")["model"]
    assert math.isfinite(found.loss) and {value.dtype for value in weights.values()} == {torch.float32}


@pytest.mark.slow
def test_the_compiled_model_walks_the_eager_path(words):
    eager, compiled = (trainer(small(exact=True, micro_batch=6, compiled=on), words) for on in (False, True))
    for _ in range(4):
        eager.advance()
        compiled.advance()
    torch.testing.assert_close(list(compiled.model.parameters()), list(eager.model.parameters()), rtol=0, atol=1e-3)
    mine, theirs = (mean_loss(one.called, one.corpus, ALONE, 4, 2, "fp32") for one in (compiled, eager))
    assert mine == pytest.approx(theirs, abs=1e-3)


def test_validation_does_not_depend_on_the_size_of_its_batches(words):
    one = trainer(small(precision="fp64"), words)
    values = [mean_loss(one.model, one.corpus, ALONE, 7, m, "fp64") for m in (1, 2, 6)]
    assert values == pytest.approx([values[0]] * 3, abs=1e-13)
