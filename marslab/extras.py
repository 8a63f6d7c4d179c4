r"""What a rule needs beyond g and prev, observed every ``period`` steps on streams of its own, each charged in gradients.

full         the gradient at the snapshot: over all n rows where the only noise is minibatches (charged n / b, rounded up);
             the mean of ``large`` fresh stochastic gradients under any other noise (charged ``large``); the gradient itself
             without noise (charged 1). The snapshot is the point of the steps 1, 1 + period, 1 + 2 period, ...
large_batch  g itself is the mean of ``large`` fresh stochastic gradients at those steps (charged ``large``)
hess         an estimate of the Hessian's diagonal on the same sample, kept in between:
             "hutchinson": :math:`u \odot \nabla^2 f(x,\xi)\,u`, u fair signs (charged 2, the usual price of such a product);
             "gauss_newton": :math:`b\,\hat g \odot \hat g`, :math:`\hat g` the gradient of the b rows' mean loss with labels
             drawn from the model (charged 1); only where the problem is a likelihood

Fresh samples come from the stream "large_batch", signs and labels from "probe": no other stream moves.
"""

import math

import torch

from marslab.errors import UsageError
from marslab.kinds import is_number
from marslab.noise.base import named_parts
from marslab.oracle import Oracle, rows_of
from marslab.streams import Stream

__all__ = ["Extras", "check_extras"]


def check_extras(rule, problem, hyper: dict) -> None:
    """Refuse a period or batch that is no single whole number, and a likelihood's estimate where there is none."""
    for name in ("period", "large") if rule.needs else ():
        value = hyper.get(name, 1)
        if not is_number(value) or not float(value).is_integer() or value < 1:
            raise UsageError(f"{name} = {value!r} of {rule.name} must be one whole number of at least 1, shared by all lanes.")
    if rule.hess == "gauss_newton" and problem.model_gradient is None:
        raise UsageError(
            f"{rule.name} draws labels from the model, but {problem.name} is no likelihood; "
            "choose sophia_h, or a likelihood such as problems.two_layer()."
        )


class Extras:
    """The observations that ``rule`` declares, on ``problem`` under ``noise``, for several seeds."""

    def __init__(self, rule, problem, noise, seeds: list[int], dtype, period: int = 1, large: int = 1):
        self.rule, self.problem, self.dtype = rule, problem, dtype
        self.laws = noise.parts if noise is not None else ()
        self.period, self.large, self.t, self.kept = int(period), int(large), 0, {}
        self.fresh = [Stream(seed, "large_batch") for seed in seeds]
        self.probe = [Stream(seed, "probe") for seed in seeds]

    def observe(self, oracle: Oracle, x: dict, xi: dict, g: dict) -> dict:
        """Name -> observation for the next step (t = 1, 2, ... in order)."""
        self.t += 1
        due = (self.t - 1) % self.period == 0
        if due and "full" in self.rule.needs:
            self.kept |= {"snapshot": x, "full": self._full(oracle, x, g)}
        if due and self.rule.hess:
            self.kept["hess"] = getattr(self, f"_{self.rule.hess}")(oracle, x, xi)
        if due and self.rule.large_batch:
            return self.kept | {"large_batch": self._mean(oracle, x)}
        return dict(self.kept)

    def _full(self, oracle, x, g):
        if not self.laws:
            return g  # the oracle charged it
        if all(law.uses_rows for law in self.laws):
            oracle.evaluations += math.ceil(self.problem.examples / self.laws[0].batch)
            return self.problem.gradient(x)
        return self._mean(oracle, x)

    def _mean(self, oracle, x):
        """The mean of ``large`` fresh stochastic gradients; rows of all of them are taken in one pass."""
        oracle.evaluations += self.large
        rows = [law for law in self.laws if law.uses_rows]
        drawn = self._rows(rows[0].batch * self.large) if rows else None
        base = self.problem.gradient(x, drawn)
        others = [law for law in self.laws if not law.uses_rows]
        blocks = {law.purpose: self._draws(law) for law in others}
        if not others:
            return base
        each = (oracle.perturb(base, {name: block[k] for name, block in blocks.items()}, x) for k in range(self.large))
        return mean(each, self.large)

    def _rows(self, count):
        return torch.stack([stream.integers(self.problem.examples, (count,)) for stream in self.fresh])

    def _draws(self, law):
        """Fresh samples of a law, (large, seeds, k): as many of its blocks as are needed, without its correlation."""
        columns = []
        for stream in self.fresh:
            blocks, length = [], 0
            while length < self.large:
                blocks.append(law.draw(self.problem, stream))
                length += len(blocks[-1])
            columns.append(torch.cat(blocks)[: self.large].to(self.dtype))
        return torch.stack(columns, dim=1)

    def _hutchinson(self, oracle, x, xi):
        signs = torch.stack([stream.rademacher((self.problem.size,)) for stream in self.probe]).to(self.dtype)
        u = {name: part.expand_as(x[name]).contiguous() for name, part in named_parts(self.problem, signs)}
        oracle.evaluations += 2
        _, product = torch.func.jvp(lambda point: oracle.perturb(oracle.base(point, xi), xi, point), (x,), (u,))
        return {name: u[name] * product[name] for name in x}

    def _gauss_newton(self, oracle, x, xi):
        rows = rows_of(xi)
        batch = self.problem.examples if rows is None else rows.shape[-1]
        uniforms = torch.stack([torch.from_numpy(stream.numpy.random(batch)) for stream in self.probe])
        oracle.evaluations += 1
        imagined = self.problem.model_gradient(x, rows, uniforms)
        return {name: batch * part * part for name, part in imagined.items()}


def mean(gradients, count: int) -> dict:
    """The mean of several gradients."""
    total = None
    for g in gradients:
        total = g if total is None else {name: total[name] + g[name] for name in g}
    return {name: part / count for name, part in total.items()}
