"""Ten faults of the library, as changes of its text: (file, what stands there, what is put in its place)."""

PIECES, ORACLE, COLUMNS = "marslab/pieces.py", "marslab/oracle.py", "marslab/moments/columns.py"
MUTATIONS = {
    "gamma is zero": [
        (PIECES, "return g + gamma * (beta / (1 - beta)) * (g - prev)", "return g + 0 * gamma * (g - prev)"),
    ],
    "prev is of the last sample": [
        (ORACLE, 'if self.mode == "approximate":', 'if self.mode in ("approximate", "exact"):'),
        (COLUMNS, "return curvature * carried + shake if", "return curvature * carried if"),
    ],
    "the weights of the average are swapped": [
        (PIECES, "return beta * m + (1 - beta) * c", "return (1 - beta) * m + beta * c"),
    ],
    "the clip is off": [
        (PIECES, "return c * scale, scale", "return c, scale"),
    ],
    "t is off by one": [
        ("marslab/plan.py", "self._times = torch.arange(t, t + BLOCK", "self._times = torch.arange(t + 1, t + 1 + BLOCK"),
        ("marslab/plan.py", "table.prepare(t, min(t + BLOCK - 1, self.plan.steps))", "table.prepare(t + 1, t + BLOCK)"),
        (
            "marslab/moments/timeline.py",
            "rows = [evaluate(e if callable(e) else",
            "rows = [evaluate((lambda t, e=e: e(t + 1)) if callable(e) else",
        ),
    ],
    "sigma is halved": [
        (
            "marslab/noise/additive.py",
            '(levels(len(problem.shapes[name]))["sigma"] * unit) * z',
            '(levels(len(problem.shapes[name]))["sigma"] * unit / 2) * z',
        ),
        (COLUMNS, "shake = at.sigma * noise", "shake = at.sigma / 2 * noise"),
    ],
    "lanes share a seed": [
        (
            "marslab/samples.py",
            "[Stream(seed, law.purpose) for seed in seeds]",
            "[Stream(seeds[0], law.purpose) for seed in seeds]",
        ),
    ],
    "v is of the raw gradient": [
        ("marslab/optimizers/mars_adamw.py", 'if second_moment == "raw"', "if second_moment"),
    ],
    "the previous point is one step too old": [
        (
            ORACLE,
            'self._last = {"x": x, "true": true, "g": g}',
            'self._older, self._last = {"x": x, "true": true, "g": g}, getattr(self, "_older", {"x": x, "true": true, "g": g})',
        ),
    ],
    "beta stays where it is scheduled": [
        (
            "marslab/schedules.py",
            "return torch.where(none, torch.zeros_like(later), later)",
            "return torch.where(none, torch.zeros_like(later), torch.full_like(later, 0.95))",
        ),
    ],
}
