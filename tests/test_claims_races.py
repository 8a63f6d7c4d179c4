"""The claims on the small races, on data of known effect: they hold, fail or cannot tell as the effect has it."""

import numpy as np
import pytest
import xarray as xr

from marslab.claims import CLAIMS, _races
from marslab.tuning import best
from marslab.verdicts import CANNOT_TELL, FAILS, HOLDS, decide, judge

RATES, SEEDS, STEPS = [0.006, 0.012, 0.024, 0.048, 0.096], [*range(32), *range(100, 106)], [100, 200]


def sweep(effect=0.0, shift=0, steep=1.0, spread=0.02, slope=1.0, number=0, mode="approximate"):
    """Losses with a common seed effect, best at the middle rate (moved by ``shift``), falling like step^(-slope)."""
    common, own = np.random.default_rng(99).normal(size=len(SEEDS)), np.random.default_rng(number)
    away = steep * np.abs(np.arange(len(RATES)) - 2 - shift)
    log = effect + common + away[:, None] + spread * own.normal(size=(len(RATES), len(SEEDS)))
    loss = np.exp(log[..., None] - slope * np.log(np.array(STEPS) / STEPS[-1]))
    coordinates = {"lr": RATES, "seed": SEEDS, "step": STEPS}
    return xr.Dataset({"loss": (("lr", "seed", "step"), loss)}, coordinates, attrs={"mode": mode})


def race(name, **methods):
    """The verdict and the finding of a race claim; methods give their sweep's options."""
    names = ("adamw", "adamw_paper", "mars", "mars_exact", "lion", "mars_lion", "muon")
    runs = {method: sweep(number=i, **methods.get(method, {})) for i, method in enumerate(names)}
    return judged(name, {"race_digits": runs})


def judged(name, data):
    """The verdict and the finding of a claim on such data."""
    claim = CLAIMS[name]
    finding = claim.measure(data)
    row = judge(finding.measurement, predicted=claim.predict(), margin=claim.margin, side=claim.side)
    return decide([row])[0].verdict, finding


@pytest.mark.parametrize(
    ("name", "holding", "failing"),
    [
        ("empirical_gain_over_paper_baseline", {"mars": {"effect": -0.2}}, {"mars": {"effect": 0.1}}),
        ("empirical_baseline_betas", {"adamw_paper": {"effect": 0.2}}, {}),
        ("empirical_lion_improved", {"mars_lion": {"effect": -0.2}}, {}),
        ("empirical_muon_above_adamw", {"muon": {"effect": 0.2}}, {}),
        ("empirical_exact_lower_at_equal_steps", {"mars_exact": {"effect": -0.1}}, {"mars_exact": {"effect": 0.1}}),
        ("empirical_tokens_to_loss", {"mars": {"effect": -0.65}}, {"mars": {"effect": -0.4}}),
        ("empirical_learning_rate_ten_times", {"mars": {"shift": 2}, "adamw_paper": {"shift": -1}}, {"mars": {"shift": 1}}),
        ("empirical_flat_in_learning_rate", {"mars": {"steep": 0.5}}, {"mars": {"steep": 1.5}}),
    ],
)
def test_a_race_holds_or_fails_by_its_effect(name, holding, failing):
    assert race(name, **holding)[0] == HOLDS
    assert race(name, **failing)[0] == FAILS


def test_a_race_cannot_tell_where_noise_hides_the_effect():
    noisy = {method: {"spread": 2.0} for method in ("lion", "mars_lion")}
    assert race("empirical_lion_improved", **noisy)[0] == CANNOT_TELL


def test_the_exact_form_is_charged_for_two_gradients():
    assert race("empirical_exact_lower_at_equal_steps", mars_exact={"mode": "exact"})[1].evaluations == 399
    assert race("empirical_lion_improved")[1].evaluations == 200


def test_a_tuned_rate_on_the_edge_is_told():
    assert "ON THE EDGE" in race("empirical_lion_improved", lion={"shift": 2})[1].note
    assert "ON THE EDGE" in race("empirical_flat_in_learning_rate", mars={"shift": 2})[1].note
    assert "EDGE" not in race("empirical_lion_improved")[1].note


def test_the_crossing_of_two_power_laws_is_their_own():
    """A curve lower by a factor e^(-d) and falling like t^(-1) reaches the other's end at t = T e^(-d)."""
    steps = np.log([50.0, 100.0, 200.0])
    for gap in (0.0, 0.3, 1.0):
        curves = np.stack([-steps - gap, -steps])
        assert _races.crossing(steps, curves) == pytest.approx(-gap)
    assert _races.crossing(steps, np.stack([-steps + 0.1, -steps])) == 0.0  # never there: at the last step
    both = np.stack([np.stack([-steps - gap, -steps]) for gap in (0.3, 0.6)])
    assert _races.crossing(steps, both) == pytest.approx([-0.3, -0.6])


def gammas(**effects):
    """Sweeps over gamma with known effects."""
    values = [1e-4, 0.025, 0.2]
    runs = [sweep(effects.get(str(value), 0.0), number=i) for i, value in enumerate(values)]
    return {"race_gamma": {"mars": xr.concat(runs, xr.DataArray(values, dims="gamma", name="gamma"), combine_attrs="override")}}


def test_gamma_claims_hold_or_fail_by_their_effects():
    flat, sharp, other = gammas(), gammas(**{"0.2": 0.3}), gammas(**{"0.0001": -0.3})
    slight, published = "empirical_gamma_differences_slight", "empirical_gamma_published_is_best"
    assert [judged(slight, data)[0] for data in (flat, sharp)] == [HOLDS, FAILS]
    assert [judged(published, data)[0] for data in (flat, sharp, other)] == [HOLDS, HOLDS, FAILS]
    assert "gamma 0.2 lr 0.024" in judged(slight, sharp)[1].note and "0.0001: 0.7" in judged(published, other)[1].note
    assert best(flat["race_gamma"]["mars"].sel(gamma=0.2)) == 0.024


def test_the_batch_claim_holds_or_fails_by_its_effect():
    def found(small, large):
        effects = {"mars_small": small, "mars_large": large, "adamw_small": 0.0, "adamw_large": 0.0}
        runs = {name: sweep(effect, number=i) for i, (name, effect) in enumerate(effects.items())}
        return judged("empirical_batch_dependence", {"race_batch": runs})[0]

    assert found(-0.3, -0.1) == HOLDS and found(-0.1, -0.3) == FAILS


def test_the_conv_claim_holds_where_the_head_alone_gains(monkeypatch):
    claim = CLAIMS["released_conv_weights"]
    effects = {"head": -0.3, "none": 0.0, "all": -0.5}
    canned = lambda rule, part, gamma, seeds: sweep(effects[part], number=list(effects).index(part))
    monkeypatch.setattr(claim.module, "final", canned)
    row, found = claim.check()
    assert found.verdict == HOLDS and "on all matrices the ratio is 0.6" in row.note
