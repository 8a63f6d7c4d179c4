"""What a run would take: counted against what training really keeps, and the paper's launches checked without starting them."""

import pytest
import torch
from gpt2_cases import prepared, small

from marslab.errors import UsageError
from marslab.gpt2 import checkpoint
from marslab.gpt2.budget import budget, lines, state_numbers
from marslab.gpt2.loop import train
from marslab.gpt2.presets import METHODS
from marslab.gpt2.settings import preset

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")
MODES = [(name, exact) for name, method in METHODS.items() for exact in ({False, method.has_exact})]


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("words"))


def numbers(value):
    """How many numbers a nest of tensors with axes holds."""
    if torch.is_tensor(value):
        return value.numel() if value.ndim else 0
    if isinstance(value, dict | list):
        return sum(map(numbers, value.values() if isinstance(value, dict) else value))
    return 0


@pytest.mark.parametrize("optimizer, exact", MODES)
def test_the_state_that_is_counted_is_the_state_that_is_kept(words, tmp_path, optimizer, exact):
    s = small(optimizer, exact=exact, steps=2)
    train(s, tmp_path, words)
    assert state_numbers(s) == numbers(checkpoint.newest(tmp_path)["optimizer"]["state"])


@pytest.mark.parametrize("size, accumulation", [("small", 4), ("medium", 4), ("large", 12), ("xl", 12)])
@pytest.mark.parametrize("optimizer", ["adamw", "muon", "mars_adamw"])
def test_the_launches_of_the_paper(size, accumulation, optimizer):
    s = preset(size, optimizer)
    b = budget(s, 8)
    assert b["accumulation"] == accumulation and b["tokens"] == 49_152_000_000 and b["tokens_per_step"] == 491_520
    assert b["rates"][0] == 0 and b["rates"][2000] == s.lr and b["rates"][99_999] == pytest.approx(s.min_lr, rel=1e-3)
    if optimizer == "adamw":
        assert b["state"] == 2 * 4 * b["parameters"]
    total = b["weights_and_gradients"] + b["state"] + b["activations"]
    assert total < 80 * 2**30  # the paper's GPUs
    text = "\n".join(lines(s, 8))
    assert "49,152,000,000 tokens" in text and "GiB" in text


def test_fsdp2_divides_and_exact_mode_doubles():
    s, sharded = (preset("small", "mars_adamw", exact=True, parallel=how) for how in ("ddp", "fsdp2"))
    one, eight = budget(s, 8), budget(sharded, 8)
    assert one["gradients"] == 200_000 and one["flops"] == 2 * budget(preset("small", "mars_adamw"), 8)["flops"]
    assert eight["state"] == one["state"] // 8 and eight["weights_and_gradients"] == 4 * 4 * one["parameters"] // 8


def test_processes_that_cannot_share_a_step_are_refused():
    with pytest.raises(UsageError, match="32 micro-batches a step cannot be shared by 5 processes"):
        budget(preset("small", "adamw"), 5)
