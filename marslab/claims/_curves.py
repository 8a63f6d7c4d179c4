"""What several claims ask of a recorded curve."""

import numpy as np
import xarray as xr

from marslab import rates

LATE = (1e4, 1e6)  # the last two decades of the exact moments
EXPONENT = dict(kind="exact", unit="exponent", margin=0.01)
SHORT = (2e3, 2e4)  # the last decade of the quick Monte Carlo


def exact_slope(data: xr.Dataset, variable: str, window=LATE) -> float:
    """Exponent of a root mean square from exact moments; ``variable`` is grad_norm_squared or error_squared."""
    return rates.fit(data.step.values, np.sqrt(data[variable].values), window).slope


def sampled(data: xr.Dataset, variable: str, window=SHORT, level=0.998) -> rates.Exponent:
    """Exponent over seeds of a simulated curve, with its interval."""
    return rates.fit(data.step.values, data[variable].transpose("seed", "step").values, window, level=level)


def beside(data: xr.Dataset, exact: xr.Dataset, variable: str) -> str:
    """One sentence: the sampled exponent on its own window beside the exact one."""
    found, truth = sampled(data, variable), exact_slope(exact, f"{variable}_squared", SHORT)
    inside = "covers" if found.low <= truth <= found.high else "MISSES"
    return (
        f"Monte Carlo on steps {SHORT[0]:.0f} to {SHORT[1]:.0f}: {found.slope:.3f} [{found.low:.3f}, {found.high:.3f}] "
        f"({data.sizes['seed']} seeds, 99.8 %) {inside} the exact {truth:.3f}"
    )
