"""The look-up for readers, related.yml: methods and papers around MARS, and where each of them stands in this library."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from marslab.errors import UsageError, unknown
from marslab.paths import PACKAGE

__all__ = ["Paper", "check", "families", "lines", "load", "tally"]

DATA = PACKAGE / "related.yml"
RULE, CLAIM, OUT, NOT_FOUND = STATES = ("rule", "claim", "out of scope", "not found")
COUNTED = {RULE: "as rules", CLAIM: "as claims", OUT: "out of scope", NOT_FOUND: "not found"}
SOURCES = {
    "read": "seen on the paper's own page or a copy of its abstract",
    "secondary": "seen where others cite it",
    "recalled": "given from memory, not verified",
}
TEXTS = ("family", "title", "source", "what")
FIELDS = {"name", *TEXTS, "arxiv", "url", "status", *STATES[:3]}
ARXIV = re.compile(r"(?P<year>\d\d)(0[1-9]|1[0-2])\.(?P<number>\d{4,5})|[a-z-]+(\.[A-Z]{2})?/\d{7}")
LAST = "Not found"  # the heading of what could not be identified


@dataclass(frozen=True)
class Paper:
    """One method or paper. `names` are the rules or claims of its state, `reason` says why it is out of scope."""

    name: str
    state: str
    names: tuple[str, ...] = ()
    reason: str = ""
    family: str = LAST
    title: str = ""
    arxiv: str = ""
    url: str = ""
    source: str = ""
    what: str = ""

    @property
    def link(self) -> str:
        """Where it can be read; empty where it was not found."""
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else self.url

    @property
    def where(self) -> str:
        """Its number on arXiv, or the site that holds it."""
        return f"arXiv {self.arxiv}" if self.arxiv else re.sub(r"^https://([^/]*).*", r"\1", self.url)

    @property
    def standing(self) -> str:
        """Its state in words: `rule: qhm, qhadam`."""
        rest = ", ".join(self.names) or self.reason
        return f"{self.state}: {rest}" if rest else self.state


class _Loader(yaml.BaseLoader):
    """Reads every scalar as text (2510.21800 is no number) and refuses a key that is given twice."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.MarkedYAMLError(problem=f"{key!r} is given twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


def load(path: Path = DATA) -> list[Paper]:
    """The papers, in the file's order.

    Raises:
        UsageError: the file is not as its head describes; one sentence that names the entry.
    """
    try:
        items = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # a BaseLoader makes no objects
    except yaml.YAMLError as problem:
        raise UsageError(f"{path.name} cannot be read: {' '.join(str(problem).split())}") from problem
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise UsageError(f"{path.name} is no list of entries: start each with '- name: ...'")
    papers = [_paper(item, path.name) for item in items]
    _each_once(papers, path.name)
    return papers


def _paper(item: Mapping[str, object], file: str) -> Paper:
    name = item.get("name")
    if not isinstance(name, str) or not name:
        raise UsageError(f"{file} has an entry without a name: {dict(item)}")
    refuse = _refusal(f"{file}, entry {name!r}")
    for key, value in item.items():
        if key not in FIELDS:
            raise unknown(f"field in {file}, entry {name!r},", key, FIELDS)
        refuse(not isinstance(value, str) or not value.strip(), f"{key} is empty or no text")
    states = [key for key in (*STATES[:3], "status") if key in item]
    refuse(len(states) != 1, f"it has {len(states)} states ({', '.join(states) or 'none'}): give one of {', '.join(STATES)}")
    if states == ["status"]:
        refuse(item["status"] != NOT_FOUND, f"status can only be {NOT_FOUND!r}, not {item['status']!r}")
        refuse(len(item) > 2, "what is not found has a name and a status, and nothing else")
        return Paper(name, NOT_FOUND)
    _check_fields(item, refuse)
    return Paper(name, *_standing(item, states[0], refuse), **{key: item.get(key, "") for key in (*TEXTS, "arxiv", "url")})


def _refusal(entry: str):
    """A function that raises UsageError about this entry where its first argument is true."""

    def refuse(wrong: bool, words: str) -> None:
        if wrong:
            raise UsageError(f"{entry}: {words}")

    return refuse


def _check_fields(item: Mapping[str, str], refuse) -> None:
    for key in TEXTS:
        refuse(key not in item, f"{key} is missing; what cannot be identified has 'status: {NOT_FOUND}' instead")
    refuse(("arxiv" in item) == ("url" in item), "give arxiv or url, one of them")
    refuse(item["source"] not in SOURCES, f"source = {item['source']!r} must be one of {', '.join(SOURCES)}")
    number = item.get("arxiv", "2411.10438")
    refuse(not _is_arxiv(number), f"arxiv = {number!r} is no number such as 2411.10438")
    url = item.get("url", "https://a/b")
    refuse(not re.fullmatch(r"https://[^\s/]+/\S+", url), f"url = {url!r} is no https link")


def _is_arxiv(number: str) -> bool:
    """Whether arXiv gives such numbers: four digits behind the month before 2015, five since then."""
    found = ARXIV.fullmatch(number)
    return bool(found) and (not found["number"] or len(found["number"]) == (4 if found["year"] < "15" else 5))


def _standing(item: Mapping[str, str], state: str, refuse) -> tuple[str, tuple[str, ...], str]:
    words = item[state]
    if state == OUT:
        refuse(not words.startswith("because "), "out of scope needs a reason that starts with 'because'")
        return state, (), words
    names = tuple(name.strip() for name in words.split(","))
    wrong = len(set(names)) < len(names) or not all(name.isidentifier() for name in names)
    refuse(wrong, f"{state} = {words!r} must be names, each once, with commas between them")
    return state, names, ""


def _each_once(papers: Iterable[Paper], file: str) -> None:
    seen: dict[str, str] = {}
    for paper in papers:
        for key in filter(None, (paper.name.casefold(), paper.link)):
            if key in seen:
                raise UsageError(f"{file} holds {paper.name!r} twice (first as {seen[key]!r}): keep one entry for {key}")
            seen[key] = paper.name


def check(papers: Iterable[Paper], rules: Iterable[str] | None = None, claims: Iterable[str] | None = None) -> None:
    """Refuse a rule or a claim that this library does not have.

    rules, claims: the names that there are; those of this checkout by default.
    """
    from marslab.claims import CLAIMS
    from marslab.optimizers import RULES

    known = {RULE: set(RULES if rules is None else rules), CLAIM: set(CLAIMS if claims is None else claims)}
    for paper in papers:
        for name in paper.names:
            if name not in known[paper.state]:
                raise unknown(f"{paper.state} in {DATA.name}, entry {paper.name!r},", name, known[paper.state])


def tally(papers: Iterable[Paper]) -> dict[str, int]:
    """How many papers are in each state."""
    states = [paper.state for paper in papers]
    return {state: states.count(state) for state in STATES}


def families(papers: Iterable[Paper]) -> dict[str, list[Paper]]:
    """The papers under their headings; what was not found comes last."""
    found: dict[str, list[Paper]] = {}
    for paper in papers:
        found.setdefault(paper.family, []).append(paper)
    return {heading: found[heading] for heading in sorted(found, key=lambda heading: heading == LAST)}


def lines(papers: list[Paper] | None = None) -> list[str]:
    """The listing for the terminal: two lines a paper, its title with its number and where it stands."""
    if papers is None:
        papers = load()
        check(papers)
    out = [f"related ({len(papers)}): " + ", ".join(f"{count} {COUNTED[state]}" for state, count in tally(papers).items())]
    out += ["title and number were " + "; ".join(f"{source}: {words}" for source, words in SOURCES.items())]
    for heading, members in families(papers).items():
        out += ["", heading]
        for paper in members:
            known = f', "{paper.title}" ({paper.where}, {paper.source})' if paper.title else ""
            out += [f"  {paper.name}{known}", f"      {paper.standing}"]
    return out
