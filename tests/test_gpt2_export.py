"""Export to transformers' names and back, and evaluation of what was trained or exported."""

import json
import math

import pytest
import torch
from gpt2_cases import prepared, small

from marslab.errors import StoreError, UsageError
from marslab.gpt2 import safetensors
from marslab.gpt2.evaluation import evaluate, load_model
from marslab.gpt2.exported import configuration, export, load_exported, to_transformers
from marslab.gpt2.log import read_log
from marslab.gpt2.loop import train
from marslab.gpt2.model import GPT, SIZES, Shape

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")
SHAPE = Shape(2, 2, 12, 8, 17, scale_by_layer=True, dropout=0.1)


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("words"))


@pytest.fixture(scope="module")
def run(words, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    train(small(eval_sequences=10**6), folder, words)
    return folder


def shaken():
    model, generator = GPT(SHAPE), torch.Generator().manual_seed(3)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator))
    return model.eval()


def conv1d(state, name, x):
    """transformers' Conv1D: x W + b, with W of shape (in, out)."""
    return x @ state[f"{name}.weight"] + state[f"{name}.bias"]


def as_transformers(state, c, tokens):
    """Logits of transformers' GPT2LMHeadModel, from its names, layout and configuration."""
    w = {name.removeprefix("transformer."): value for name, value in state.items()}
    norm = lambda x, name: torch.layer_norm(x, (c["n_embd"],), w[f"{name}.weight"], w[f"{name}.bias"], c["layer_norm_epsilon"])
    heads = lambda x: x.unflatten(-1, (c["n_head"], -1)).transpose(1, 2)
    x = w["wte.weight"][tokens] + w["wpe.weight"][: tokens.shape[1]]
    future = torch.triu(torch.ones(tokens.shape[1], tokens.shape[1]), 1).bool()
    for i in range(c["n_layer"]):
        q, k, v = map(heads, conv1d(w, f"h.{i}.attn.c_attn", norm(x, f"h.{i}.ln_1")).split(c["n_embd"], dim=-1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(c["n_embd"] // c["n_head"])
        scores = scores / (i + 1) if c["scale_attn_by_inverse_layer_idx"] else scores
        mixed = scores.masked_fill(future, -math.inf).softmax(-1) @ v
        x = x + conv1d(w, f"h.{i}.attn.c_proj", mixed.transpose(1, 2).flatten(2))
        inner = torch.nn.functional.gelu(conv1d(w, f"h.{i}.mlp.c_fc", norm(x, f"h.{i}.ln_2")), approximate="tanh")
        x = x + conv1d(w, f"h.{i}.mlp.c_proj", inner)
    return norm(x, "ln_f") @ w["wte.weight"].T


@torch.no_grad()
def test_the_exported_files_give_the_logits_in_the_layout_of_transformers(tmp_path):
    model, tokens = shaken(), torch.arange(16).view(2, 8)
    export(model, tmp_path)
    state, c = safetensors.read(tmp_path / "model.safetensors"), json.loads((tmp_path / "config.json").read_text())
    torch.testing.assert_close(as_transformers(state, c, tokens), model(tokens), rtol=0, atol=1e-5)
    assert state["transformer.h.0.attn.c_attn.weight"].shape == (12, 36)
    assert state["transformer.h.1.mlp.c_proj.bias"].shape == (12,) and not state["transformer.h.1.mlp.c_proj.bias"].any()
    assert c["vocab_size"] == 17 and c["tie_word_embeddings"] and "lm_head.weight" not in state


def test_export_and_load_go_round_bit_for_bit(tmp_path):
    model = shaken()
    export(model, tmp_path)
    again = load_exported(tmp_path)
    assert again.shape == SHAPE
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), model.parameters(), strict=True))


def test_what_transformers_adds_is_read(tmp_path):
    """Masks of old versions and the tied head; a bias that is not zero is refused."""
    model = shaken()
    export(model, tmp_path)
    state = to_transformers(model.state_dict())
    more = {"lm_head.weight": model.wte.weight, "transformer.h.0.attn.bias": torch.ones(1, 1, 8, 8)}
    safetensors.write(tmp_path / "model.safetensors", {**state, **more}, "")
    assert torch.equal(load_exported(tmp_path).wte.weight, model.wte.weight)
    safetensors.write(tmp_path / "model.safetensors", {**state, "transformer.h.0.ln_1.bias": torch.ones(12)}, "")
    with pytest.raises(UsageError, match=r"h.0.ln_1.bias is not zero, and this model has no biases"):
        load_exported(tmp_path)


def test_foreign_folders_are_refused(tmp_path):
    with pytest.raises(UsageError, match="no configuration of a GPT-2"):
        load_exported(tmp_path)
    export(shaken(), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "activation_function": "relu"}))
    with pytest.raises(UsageError, match="only activation_function gelu_new"):
        load_exported(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**config, "n_inner": None, "n_embd": 14}))
    with pytest.raises(UsageError, match=r"has shape \(17, 12\) where config.json says \(17, 14\)"):
        load_exported(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**config, "n_layer": 3}))
    with pytest.raises(UsageError, match=r"lacks h.2.ln_1.weight"):
        load_exported(tmp_path)


@pytest.mark.parametrize("length", [0, 5, 400, 3000])
def test_a_truncated_file_of_tensors_is_refused(tmp_path, length):
    export(shaken(), tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(UsageError, match="no intact safetensors file"):
        load_exported(tmp_path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        export(shaken(), tmp_path / "file" / "model")


def test_configurations_name_the_last_token():
    assert configuration(SIZES["small"])["eos_token_id"] == 50256 and configuration(SIZES["tiny"])["eos_token_id"] == 0


# evaluation


def test_a_run_a_checkpoint_and_an_export_have_the_loss_of_the_log(run, words, tmp_path):
    logged = read_log(run / "log.jsonl")[-1]["validation_loss"]
    model, settings = load_model(run)
    assert settings == small(eval_sequences=10**6)
    export(model, tmp_path / "exported")
    found = evaluate(run, words)
    assert found["loss"] == pytest.approx(logged, rel=1e-6)
    assert found["perplexity"] == pytest.approx(math.exp(logged), rel=1e-5)
    assert found["bits_per_token"] == pytest.approx(logged / math.log(2), rel=1e-5)
    assert evaluate(run / "step-000000006.pt", words) == found
    other = evaluate(tmp_path / "exported", words)  # windows of the model's context, twice as long
    assert other["loss"] == pytest.approx(logged, rel=0.05) and abs(other["tokens"] - found["tokens"]) <= 32


def test_an_earlier_checkpoint_is_another_model(run, words):
    assert evaluate(run / "step-000000004.pt", words)["loss"] > evaluate(run, words)["loss"]


def test_a_folder_without_a_model_is_refused(tmp_path, words):
    with pytest.raises(UsageError, match="holds no checkpoint and no exported model"):
        evaluate(tmp_path, words)
