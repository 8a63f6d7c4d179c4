"""Presets are the paper's tables; overrides are typed, and what is unknown is refused."""

import math

import pytest

from marslab.errors import UsageError
from marslab.gpt2.methods import make_optimizer
from marslab.gpt2.model import GPT, SIZES
from marslab.gpt2.presets import METHODS
from marslab.gpt2.schedule import factor, learning_rate
from marslab.gpt2.settings import preset, read_settings

PAPER = {  # max lr, lr of the AdamW part, min lr, weight decay of matrices
    ("small", "adamw"): (6e-4, None, 3e-5, 0.1),
    ("medium", "adamw"): (3e-4, None, 6e-5, 0.1),
    ("large", "adamw"): (2e-4, None, 1e-5, 0.1),
    ("xl", "adamw"): (2e-4, None, 1e-5, 0.1),
    ("small", "muon"): (2e-2, 3e-3, 3e-5, 0.0),
    ("medium", "muon"): (1e-2, 1.5e-3, 6e-5, 0.0),
    ("large", "muon"): (6.67e-3, 1e-3, 1e-5, 0.0),
    ("small", "mars_adamw"): (6e-3, 3e-3, 3e-5, 0.01),
    ("medium", "mars_adamw"): (3e-3, 1.5e-3, 6e-5, 0.01),
    ("large", "mars_adamw"): (2e-3, 1e-3, 1e-5, 0.01),
    ("xl", "mars_adamw"): (2e-3, 1e-3, 1e-5, 0.01),
}
MARS = [name for name in METHODS if name.startswith("mars_")]


@pytest.mark.parametrize("size, optimizer", PAPER)
def test_the_tables_of_the_paper(size, optimizer):
    s = preset(size, optimizer)
    assert (s.lr, s.lr_1d, s.min_lr, s.weight_decay) == PAPER[size, optimizer]
    assert s.tokens_per_step == 491_520 and s.steps == 100_000 and s.warmup == 2_000 and s.clip == 1.0
    accumulation = {"small": 4, "medium": 4, "large": 12, "xl": 12}[size]
    assert s.micro_batches == accumulation * 8 and s.micro_batch == {4: 15, 12: 5}[accumulation]
    assert s.scale_by_layer and s.dropout == 0 and s.seed == 5000 and s.precision == "bf16" and s.gamma == 0.025
    assert (s.beta1, s.beta2) == {"adamw": (0.9, 0.95), "muon": (0.95, 0.95), "mars_adamw": (0.95, 0.99)}[optimizer]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("optimizer", METHODS)
def test_every_preset_is_whole_and_goes_round(size, optimizer):
    s = preset(size, optimizer, exact=optimizer in MARS)
    assert read_settings(s.as_dict()) == s


def test_groups_take_what_the_tables_say():
    model = GPT(SIZES["micro"])
    optimizer = make_optimizer(preset("small", "mars_adamw", clip_radius=2.0), model)
    main, rest = optimizer.param_groups
    assert (main["rule"], rest["rule"]) == ("mars_adamw", "adamw")
    assert {"wte.weight", "wpe.weight"} < set(main["param_names"]) and all("ln_" in name for name in rest["param_names"])
    assert (main["lr"], main["weight_decay"], main["gamma"], main["clip_radius"]) == (6e-3, 0.01, 0.025, 2.0)
    assert rest["lr"] * rest["lr_ratio"] == pytest.approx(3e-3) and rest["weight_decay"] == 0.1
    main, rest = make_optimizer(preset("small", "muon"), model).param_groups
    assert {"wte.weight", "wpe.weight"} < set(rest["param_names"]) and (main["lr"], rest["lr"]) == (2e-2, 3e-3)
    main, rest = make_optimizer(preset("small", "adamw"), model).param_groups
    assert (main["weight_decay"], rest["weight_decay"], main["betas"]) == (0.1, 0.0, (0.9, 0.95))


@pytest.mark.parametrize("optimizer", MARS)
def test_the_mode_reaches_the_rule(optimizer):
    for exact in (False, True):
        groups = make_optimizer(preset("micro", optimizer, exact=exact), GPT(SIZES["micro"])).param_groups
        assert groups[0]["mode"] == ("exact" if exact else "approximate")


def test_overrides_are_read_as_their_type():  # case X13
    s = preset("tiny", "mars_adamw", exact="False", clip=1, steps="200", lr="1e-3", lr_1d="none", compiled=0)
    assert s.exact is False and s.compiled is False and s.lr_1d is None
    assert isinstance(s.clip, float) and s.steps == 200 and s.warmup == 10 and isinstance(s.steps, int) and s.lr == 1e-3
    assert preset("tiny", "mars_adamw", exact=0).exact is False and preset("tiny", "mars_adamw", exact="1").exact is True


REFUSED = {
    "did you mean 'gamma'": dict(gama=0.1),
    "exact = 'maybe' is neither": dict(exact="maybe"),
    "steps = 1.5 is no whole number": dict(steps=1.5),
    "lr = 'fast' is no number": dict(lr="fast"),
    "lr = nan is no number": dict(lr=math.nan),
    "lr = inf must be": dict(lr=math.inf),
    "batch = 32 is no multiple of micro_batch = 5": dict(micro_batch=5),
    "context = 129 exceeds the 128": dict(context=129),
    "schedule = 'cosin' is unknown": dict(schedule="cosin"),
    "tokenizer = 'byte' is unknown": dict(tokenizer="byte"),
    "dropout = 1.0 must lie": dict(dropout=1),
    "steps = 0 must be at least 1": dict(steps=0),
    "decay = 2.0 is the last share": dict(decay=2),
    "clip = True is no number": dict(clip=True),
}


@pytest.mark.parametrize("match", REFUSED)
def test_what_is_refused(match):
    with pytest.raises(UsageError, match=match):
        preset("tiny", "mars_adamw", **REFUSED[match])


def test_unknown_names_and_modes_are_refused():
    with pytest.raises(UsageError, match="unknown size 'smal': did you mean 'small'"):
        preset("smal", "adamw")
    with pytest.raises(UsageError, match="unknown optimizer 'mars_adam': did you mean 'mars_adamw'"):
        preset("small", "mars_adam")
    with pytest.raises(UsageError, match="exact = True is for the MARS methods"):
        preset("small", "adamw", exact=True)
    with pytest.raises(UsageError, match="lack 'seed'"):
        read_settings({name: value for name, value in preset("tiny", "adamw").as_dict().items() if name != "seed"})


# schedules


def test_cosine_is_the_released_one():
    s = preset("small", "mars_adamw")
    assert [learning_rate(s, i) for i in (0, 1000, 2000)] == [0.0, 3e-3, 6e-3]
    assert learning_rate(s, 51_000) == pytest.approx((6e-3 + 3e-5) / 2)
    assert learning_rate(s, 100_000) == learning_rate(s, 10**6) == pytest.approx(3e-5)


def test_wsd_and_constant():
    s = preset("tiny", "adamw", schedule="wsd", decay=0.2, steps=100, warmup=10, lr=1.0, min_lr=0.1)
    assert [factor(s, i) for i in (5, 10, 80)] == [0.5, 1.0, 1.0]
    assert [factor(s, i) for i in (90, 100, 200)] == pytest.approx([0.55, 0.1, 0.1])
    s = preset("tiny", "adamw", schedule="constant", warmup=4)
    assert [factor(s, i) for i in (0, 2, 4, 499)] == [0, 0.5, 1, 1]
    assert factor(preset("tiny", "adamw", lr=0, warmup=0), 3) == 1.0
