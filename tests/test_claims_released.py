"""The claims on released code and on the small races: verdicts, closed forms found apart, and checks that can hold."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from marslab.claims import CLAIMS, _ports, _protocols, _streams
from marslab.claims.base import verdicts
from marslab.noise import minibatch
from marslab.optimizers import mars, mars_adamw
from marslab.verdicts import CANNOT_TELL, FAILS, HOLDS

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")

EXPECTED = {
    "released_aliasing": FAILS,
    "released_clip_scope": FAILS,
    "released_conv_weights": FAILS,
    "released_decay_1d": FAILS,
    "released_documented_exact": FAILS,
    "released_double_clip": FAILS,
    "released_exact_clips_apart": FAILS,
    "released_first_step": FAILS,
    "released_fused_correction": FAILS,
    "released_fused_denominator": FAILS,
    "released_lr_1d_ratio": FAILS,
    "released_port_is_adam": HOLDS,
    "released_readme_second_moment": FAILS,
    "released_swapped_arguments": FAILS,
    "empirical_baseline_betas": FAILS,
    "empirical_batch_dependence": CANNOT_TELL,
    "empirical_clip_frequency": FAILS,
    "empirical_exact_lower_at_equal_steps": FAILS,
    "empirical_flat_in_learning_rate": CANNOT_TELL,
    "empirical_gain_over_paper_baseline": HOLDS,
    "empirical_gamma_differences_slight": FAILS,
    "empirical_gamma_published_is_best": HOLDS,
    "empirical_learning_rate_ten_times": FAILS,
    "empirical_lion_improved": HOLDS,
    "empirical_muon_above_adamw": CANNOT_TELL,
    "empirical_tokens_to_loss": FAILS,
}
KAPPA, BETA, GAMMA = 0.475, 0.95, 0.025


def settled(name, **settings):
    """The verdict of a claim with other settings."""
    claim = CLAIMS[name]
    return dataclasses.replace(claim, settings={**claim.settings, **settings}).check()[1].verdict


def test_the_verdicts_are_as_expected_also_in_one_family(quick):
    rows = [CLAIMS[name].row() for name in EXPECTED]
    assert {name: found.verdict for name, found in zip(EXPECTED, verdicts(rows), strict=True)} == EXPECTED
    assert {name for name in CLAIMS if name.startswith(("released_", "empirical_"))} == set(EXPECTED)
    assert not [row.name for row in rows if "ON THE EDGE" in row.note]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("released_aliasing", {"buffers": "fresh"}),
        ("released_aliasing", {"keeps": "copy"}),
        ("released_aliasing", {"gamma": 0.0}),
        ("released_clip_scope", {"scope": "all"}),
        ("released_clip_scope", {"tensors": 1}),
        ("released_decay_1d", {"decay_1d": 0.0}),
        ("released_documented_exact", {"protocol": _protocols.queued}),
        ("released_double_clip", {"gamma": 0.0}),
        ("released_exact_clips_apart", {"angle": 90.0}),
        ("released_exact_clips_apart", {"size": 0.1}),
        ("released_first_step", {"conventions": ("paper",)}),
        ("released_fused_correction", {"held": "gradient"}),
        ("released_fused_denominator", {"corrects": "matrix"}),
        ("released_lr_1d_ratio", {"lr_now": 6e-3}),
        ("released_readme_second_moment", {"gamma": 0.0}),
        ("released_swapped_arguments", {"rule": mars}),
        ("empirical_clip_frequency", {"noise": minibatch(batch=128)}),
        ("empirical_clip_frequency", {"outer_radius": 0.5}),
    ],
)
def test_what_fails_holds_where_the_code_would_be_as_believed(name, settings):
    assert settled(name, **settings) == HOLDS


# closed forms found apart


def test_a_reused_buffer_leaves_the_first_correction_alone():
    """By hand: c_1 = (1 + kappa) g_1 and c_t = g_t from then on."""
    stream = _streams.noisy(steps=30).numpy()
    m, seen = np.zeros_like(stream[0]), []
    for t, g in enumerate(stream):
        m = BETA * m + (1 - BETA) * ((1 + KAPPA) * g if t == 0 else g)
        seen.append(m)
    walked = _streams.walk(mars, torch.from_numpy(stream), buffers="reused", keeps="reference", gamma=GAMMA, beta1=BETA)["m"]
    assert np.allclose(walked, seen, rtol=0, atol=1e-15)
    assert np.allclose(seen, CLAIMS["released_aliasing"].module.aliased(torch.from_numpy(stream), GAMMA), rtol=0, atol=1e-15)


def test_the_fused_step_is_that_of_its_recursion_written_out_with_the_clip():
    stream = 20 * _streams.noisy(steps=40).numpy()
    m, c, seen, acted = np.zeros_like(stream[0]), np.zeros_like(stream[0]), [], 0
    for g in stream:
        c = g + KAPPA * (g - c)
        acted += np.linalg.norm(c) > 1
        c = c / max(1.0, np.linalg.norm(c))
        m = BETA * m + (1 - BETA) * c
        seen.append(m)
    walked = _streams.walk(_ports.fused, torch.from_numpy(stream), gamma=GAMMA, beta1=BETA)["m"]
    assert acted > 20 and np.allclose(walked, seen, rtol=0, atol=1e-14)


def test_the_fused_recursion_has_the_variance_of_its_expansion_and_explodes_beyond_gamma_one_nineteenth():
    stream = _streams.noisy(steps=20_000, coordinates=8, size=1e-3, noise=1.0) - _streams.noisy(
        steps=20_000, size=1e-3, noise=0.0
    )
    options = dict(beta1=BETA, clip_radius=math.inf)
    fused = _streams.walk(_ports.fused, stream, gamma=GAMMA, **options)["last"]
    assert float(fused.square().mean() / stream.square().mean()) == pytest.approx((1 + KAPPA) / (1 - KAPPA), rel=0.03)
    wild = _streams.walk(_ports.fused, stream[:2000], gamma=0.055, **options)["last"]
    assert float(wild[-1].norm()) > 1e20 * float(stream[0].norm())


def test_the_queue_is_the_exact_form_and_the_documented_loop_the_approximate_one():
    assert _protocols.apart(_protocols.looped(_protocols.queued, mars_adamw), _protocols.published(True)) < 1e-12
    assert _protocols.looped(_protocols.documented, mars_adamw) == pytest.approx(_protocols.published(False), rel=1e-12)


def test_the_norms_behind_both_clips():
    """||(1 + kappa) g - kappa g'|| for unit vectors at an angle: the law of cosines."""
    for angle in (0.0, 1.0, math.pi):
        stream = torch.tensor([[1.0, 0.0], [math.cos(angle), math.sin(angle)]], dtype=torch.float64) * 7
        c = _streams.walk(_ports.clipped_twice, stream, gamma=GAMMA, beta1=BETA)["corrected"][-1]
        expected = (1 + KAPPA) ** 2 + KAPPA**2 - 2 * KAPPA * (1 + KAPPA) * math.cos(angle)
        assert float(c.norm()) == pytest.approx(math.sqrt(expected))


def test_the_other_scopes_are_in_the_note():
    note = CLAIMS["released_clip_scope"].row().note
    assert "clip per tensor 2.0000" in note and "clip per all 1.0000" in note


def test_averages_are_the_sum_that_they_say():
    stream = _streams.noisy(steps=12)
    by_hand = sum(0.1 * 0.9 ** (9 - i) * stream[i] for i in range(10))
    assert torch.allclose(_streams.averages(stream, 0.9)[9], by_hand, rtol=0, atol=1e-15)


def test_the_part_that_takes_mars_is_the_one_named():
    x, zero = torch.ones(10, 4, dtype=torch.float64), torch.zeros(10, 4, dtype=torch.float64)
    step = lambda x, part: _ports.mars_on_part(
        x, _ports.mars_on_part.init(x), 0.01 * torch.ones_like(x), torch.zeros_like(x), axes=(0, 1), part=part
    )[1]["m"]
    corrected, plain = (1 - 0.95) * (1 + KAPPA) * 0.01, (1 - 0.9) * 0.01
    assert step(x, "head").numpy() == pytest.approx(corrected) and step(x, "none").numpy() == pytest.approx(plain)
    assert step(x[:6], "head").numpy() == pytest.approx(plain) and step(zero[:6], "all").numpy() == pytest.approx(corrected)
