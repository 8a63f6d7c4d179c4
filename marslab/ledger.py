"""The ledger: every claim's row, its verdict, and the lines that the terminal shows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from marslab import claims, paths, results
from marslab.claims.base import Claim, Row, row_of, verdicts
from marslab.errors import StoreError, unknown
from marslab.verdicts import CANNOT_TELL, FAILS, HOLDS, Verdict

__all__ = ["Entry", "chosen", "entries", "explain", "lines", "published_path", "stored"]

WIDTH = 110  # columns of the terminal's table


@dataclass(frozen=True)
class Entry:
    """A claim with its quick and full rows (None where there is none), their verdicts, and where each comes from."""

    claim: Claim
    rows: Mapping[str, Row]
    verdicts: Mapping[str, Verdict]
    origins: Mapping[str, str]


def chosen(names: Iterable[str] = ()) -> dict[str, Claim]:
    """The claims of these names (all where none is given); an unknown name is refused with the closest one."""
    names = list(names) or list(claims.CLAIMS)
    for name in names:
        if name not in claims.CLAIMS:
            raise unknown("claim", name, claims.CLAIMS)
    return {name: claims.CLAIMS[name] for name in names}


def published_path(claim: Claim, mode: str):
    """Where the committed row of a claim lies, if there is one."""
    return paths.CLAIMS / "published" / f"{claim.name}-{mode}.nc"


def stored(claim: Claim, mode: str) -> tuple[Row | None, str]:
    """The newest row of store and committed results, and where it comes from, or why it cannot be had; measures nothing."""
    row = claim.find(mode)
    if row is not None:
        return row, "measured here"
    path = published_path(claim, mode)
    if not path.is_file():
        return None, ""
    try:
        data, note = results.published(path, claim.key(mode))
        again = f"python -m marslab claims {claim.name}{' --full' if mode == 'full' else ''}"
        return row_of(data), f"published with the repository, rerun with '{again}'" + (f", {note}" if note else "")
    except StoreError as problem:
        return None, str(problem)


def entries(names: Iterable[str] = ()) -> list[Entry]:
    """All rows that can be had without measuring, judged together: Holm's correction runs over each mode's rows."""
    picked = chosen(names)
    found = {mode: {name: stored(claim, mode) for name, claim in picked.items()} for mode in ("quick", "full")}
    judged = {mode: judge_all({n: row for n, (row, _) in rows.items() if row is not None}) for mode, rows in found.items()}
    return [
        Entry(
            claim,
            {mode: found[mode][name][0] for mode in found if found[mode][name][0] is not None},
            {mode: judged[mode][name] for mode in judged if name in judged[mode]},
            {mode: found[mode][name][1] for mode in found},
        )
        for name, claim in picked.items()
    ]


def judge_all(rows: Mapping[str, Row]) -> dict[str, Verdict]:
    """Verdicts by name."""
    return dict(zip(rows, verdicts(list(rows.values())), strict=True))


def number(value: float, digits: int = 4) -> str:
    """Four significant digits; 0 and tiny exact numbers stay short."""
    return f"{value:.{digits}g}"


def interval(row: Row, digits: int = 4) -> str:
    """The interval in brackets; exact and symbolic rows have none."""
    return "" if row.low == row.high else f"[{number(row.low, digits)}, {number(row.high, digits)}]"


def prediction(row: Row, digits: int = 4) -> str:
    """What the claim allows: a value with its margin, or one side."""
    if row.side == "within":
        return number(row.predicted, digits) + (f" ± {number(row.margin, digits)}" if row.margin else "")
    return f"{'≤' if row.side == 'below' else '≥'} {number(row.upper if row.side == 'below' else row.lower, digits)}"


def line(row: Row, verdict: str, digits: int = 4) -> str:
    """A row of the terminal's table; numbers that would make it too long lose a digit."""
    measured = f"{number(row.measured, digits)} {interval(row, digits)}"
    text = f"{verdict:<12} {row.name:<37} {prediction(row, digits):<17} {measured:<32} {row.mode}"
    return text if len(text) <= WIDTH or digits < 4 else line(row, verdict, digits - 1)


def unreadable(found: list[Entry]) -> list[str]:
    """A line for every committed row that is there and cannot be used."""
    return [
        f"{entry.claim.name}, {mode}: {origin}"
        for entry in found
        for mode, origin in entry.origins.items()
        if origin and mode not in entry.rows
    ]


def lines(found: list[Entry]) -> list[str]:
    """The terminal's table: a line a claim and mode, then what could not be read, and the counts."""
    head = f"{'verdict':<12} {'claim':<37} {'predicted':<17} {'measured':<32} mode"
    table, counts = [head, "-" * len(head)], {HOLDS: 0, FAILS: 0, CANNOT_TELL: 0}
    for entry in found:
        for mode, row in entry.rows.items():
            verdict = entry.verdicts[mode].verdict
            counts[verdict] += 1
            table.append(line(row, verdict))
    return [*table, "-" * len(head), *unreadable(found), ", ".join(f"{count} {verdict}" for verdict, count in counts.items())]


def explain(entry: Entry) -> list[str]:
    """One claim in full, for the terminal."""
    claim = entry.claim
    text = [f"{claim.name}: {claim.statement}", f"source: {claim.source}", "", claim.derivation, ""]
    for mode, row in entry.rows.items():
        verdict = entry.verdicts[mode]
        text += [f"{mode}: {verdict.verdict} ({entry.origins[mode]})", f"  predicted {prediction(row)} {row.unit}"]
        text += [f"  measured {number(row.measured)} {interval(row)}: {verdict.reason}", f"  {row.note}"]
        text += [f"  {effort(row)}"]
    return text if entry.rows else [*text, f"not measured yet: run 'marslab claims {claim.name}'"]


def effort(row: Row) -> str:
    """Seeds, steps, gradient evaluations, seconds."""
    seeds = f"{row.seeds} seeds, " if row.seeds else ""
    return f"{seeds}{row.steps:,} steps, {row.evaluations:,} gradient evaluations a seed, {row.seconds:.2g} s"
