"""The model against counts in closed form, a reference of its own, and transformers where it is installed."""

import importlib
import importlib.util
import math

import pytest
import torch

from marslab.errors import UsageError
from marslab.gpt2.model import GPT, SIZES, Shape, count_parameters, flops_per_token, shape_of

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")
SMALL = Shape(layers=3, heads=2, width=12, context=8, vocabulary=17)


def reference(weights, shape, tokens):
    """Logits of one sequence, written with loops over layers, heads and places, in float64."""
    w = {name: p.double() for name, p in weights.items()}

    def norm(x, weight):
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight

    def gelu(x):
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    x, size = w["wte.weight"][tokens] + w["wpe.weight"][: len(tokens)], shape.width // shape.heads
    for i in range(shape.layers):
        own = lambda name, i=i: w[f"h.{i}.{name}.weight"]
        mixed, inner = torch.zeros_like(x), norm(x, own("ln_1")) @ own("attn.c_attn").T
        for head in range(shape.heads):
            at = slice(head * size, (head + 1) * size)
            q, k, v = (part[:, at] for part in inner.split(shape.width, dim=1))
            for place in range(len(tokens)):
                score = k[: place + 1] @ q[place] / math.sqrt(size) / (i + 1 if shape.scale_by_layer else 1)
                mixed[place, at] = torch.softmax(score, 0) @ v[: place + 1]
        x = x + mixed @ own("attn.c_proj").T
        x = x + gelu(norm(x, own("ln_2")) @ own("mlp.c_fc").T) @ own("mlp.c_proj").T
    return norm(x, w["ln_f.weight"]) @ w["wte.weight"].T


def shaken(shape, seed=0):
    """A model whose every weight matters: norms away from 1, and larger deviations than at the start."""
    model, generator = GPT(shape, seed), torch.Generator().manual_seed(9)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator))
    return model.eval()


@pytest.mark.parametrize("scale_by_layer", [False, True])
def test_logits_are_those_of_a_reference_with_loops(scale_by_layer):
    shape = Shape(3, 2, 12, 8, 17, scale_by_layer=scale_by_layer)
    model, tokens = shaken(shape), torch.tensor([[3, 16, 0, 3, 9, 1, 1, 8], [5, 4, 3, 2, 1, 0, 16, 15]])
    wanted = torch.stack([reference(model.state_dict(), shape, row) for row in tokens])
    torch.testing.assert_close(model.double()(tokens), wanted, rtol=0, atol=1e-12)
    torch.testing.assert_close(shaken(shape)(tokens), wanted.float(), rtol=0, atol=1e-4)


def test_the_loss_is_the_mean_cross_entropy_and_stays_float32_under_bf16():
    model, tokens = shaken(SMALL), torch.randint(17, (4, 9), generator=torch.Generator().manual_seed(0))
    x, y = tokens[:, :-1], tokens[:, 1:]
    wanted = torch.stack([-torch.log_softmax(model(x), -1)[b, t, y[b, t]] for b in range(4) for t in range(8)]).mean()
    torch.testing.assert_close(model(x, y), wanted)
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(x, y)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, wanted, rtol=0.05, atol=0)


@pytest.mark.parametrize("size", SIZES)
def test_counts_in_closed_form(size):
    shape = SIZES[size]
    with torch.device("meta"):
        model = GPT(shape)
    assert sum(p.numel() for p in model.parameters()) == count_parameters(shape)
    assert not any("bias" in name for name, _ in model.named_parameters())
    assert count_parameters(SIZES["small"]) == 124_373_760 and count_parameters(SIZES["xl"]) == 1_556_840_000


def test_flops_are_those_of_the_products():
    s = SIZES["tiny"]
    products = 2 * s.layers * (12 * s.width**2 + 2 * s.width * s.context) + 2 * s.vocabulary * s.width
    assert flops_per_token(s) == pytest.approx(3 * products, rel=0.01)  # 2 N + 4 L d C once, three times with backward


def test_the_seed_alone_decides_the_weights():
    before = torch.get_rng_state()
    a, b, c = GPT(SMALL, 5), GPT(SMALL, 5), GPT(SMALL, 6)
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert not torch.equal(a.wte.weight, c.wte.weight)
    large = GPT(Shape(4, 2, 64, 8, 500), 1)
    assert large.wte.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert large.h[2].mlp.c_proj.weight.std().item() == pytest.approx(0.02 / math.sqrt(8), rel=0.05)


def test_a_token_sees_none_after_it():
    model, tokens = shaken(SMALL), torch.randint(17, (1, 8), generator=torch.Generator().manual_seed(0))
    other = tokens.clone()
    other[0, 5:] = (other[0, 5:] + 1) % 17
    assert torch.equal(model(tokens)[0, :5], model(other)[0, :5])
    assert not torch.equal(model(tokens)[0, 5], model(other)[0, 5])


def test_dropout_acts_in_training_alone():
    model, tokens = GPT(Shape(2, 2, 12, 8, 17, dropout=0.5)), torch.zeros(1, 8, dtype=torch.long)
    assert not torch.equal(model(tokens), model(tokens))
    assert torch.equal(model.eval()(tokens), model(tokens))


def test_what_is_refused():
    with pytest.raises(UsageError, match="width = 10 is no multiple of heads = 3"):
        Shape(1, 3, 10, 8, 17)
    with pytest.raises(UsageError, match="layers = 0"):
        Shape(0, 1, 10, 8, 17)
    with pytest.raises(UsageError, match="did you mean 'tiny'"):
        shape_of("tinny")
    with pytest.raises(UsageError, match="9 tokens exceed the model's context of 8"):
        GPT(SMALL)(torch.zeros(1, 9, dtype=torch.long))


transformers = importlib.util.find_spec("transformers")


@pytest.mark.skipif(transformers is None, reason="transformers is not installed")
@pytest.mark.parametrize("scale_by_layer", [False, True])
def test_logits_are_those_of_transformers_both_ways(tmp_path, scale_by_layer):
    from marslab.gpt2.exported import export, load_exported

    model = importlib.import_module("transformers").GPT2LMHeadModel
    ours = shaken(Shape(3, 2, 12, 8, 17, scale_by_layer=scale_by_layer))
    export(ours, tmp_path / "a")
    theirs, tokens = model.from_pretrained(tmp_path / "a").eval(), torch.arange(16).view(2, 8)
    torch.testing.assert_close(theirs(tokens).logits, ours(tokens), rtol=0, atol=1e-5)
    theirs.save_pretrained(tmp_path / "b")
    torch.testing.assert_close(load_exported(tmp_path / "b").eval()(tokens), ours(tokens), rtol=0, atol=0)
    assert theirs.num_parameters() - sum(p.numel() for p in ours.parameters()) == 3 * 12 * 11 + 12  # its biases, all zero
