"""The look-up: its data are sound, every paper has one state that exists, and list and page show all of them."""

import inspect
import re
import shutil

import pytest
import yaml
from test_page import FLAGS, HOSTILE, Reader, self_contained

from marslab import __main__ as cli
from marslab import page, paths, related, related_page
from marslab.claims import CLAIMS
from marslab.errors import StoreError, UsageError
from marslab.optimizers import RULES
from marslab.related import Paper

GOOD = {
    "name": "One", "family": "Some", "title": "On One", "arxiv": "2411.10438", "source": "read", "what": "a method",
    "rule": "sgd",
}  # fmt: skip
ASKED = """Scion, Muon-MVR, MARS-M, CLion, MGUP, HTMuon, Muse, Symmetry-compatible updates, OmniOpt, RS-MR, Adaptive memory
momentum, Optimizer-model consistency, Gradient delay, SGD's discrete Fokker-Planck picture, STORM actor-critic, pFLAlign,
Understanding MARS, Neumann, ASGO, NGN momentum, Small-batch SGD, MARS, STORM, STORM+, SPIDER, SARAH, SVRG, α-SVRG, SUPER-ADAM,
Adan, QHM and QHAdam, NAdam, Lion, Cautious optimizers, Sophia, Moonlight, Muon, Shampoo, Signum, VRAdam"""


@pytest.fixture
def loaded(tmp_path):
    """Load entries given as dictionaries."""

    def load(*entries):
        (tmp_path / "related.yml").write_text(
            yaml.safe_dump(list(entries), allow_unicode=True, sort_keys=False), encoding="utf-8"
        )
        return related.load(tmp_path / "related.yml")

    return load


def changed(**changes):
    """A good entry with other fields; None takes a field away."""
    return {key: value for key, value in (GOOD | changes).items() if value is not None}


# the data


def test_every_rule_and_claim_that_is_named_exists():
    related.check(related.load())


def test_every_rule_with_a_number_on_arxiv_is_listed_and_so_is_its_paper():
    papers = related.load()
    listed = {name for paper in papers if paper.state == "rule" for name in paper.names}
    known = {paper.arxiv for paper in papers}
    named = {
        name: re.findall(r"arXiv[ :](\d{4}\.\d{4,5})", inspect.getdoc(rule.function) or "") for name, rule in RULES.items()
    }
    assert len({name for name, numbers in named.items() if numbers}) >= 10
    assert {name for name, numbers in named.items() if numbers} <= listed
    assert {number for numbers in named.values() for number in numbers} <= known


def test_every_paper_that_a_claim_quotes_is_listed():
    known = {paper.arxiv for paper in related.load()}
    assert {number for claim in CLAIMS.values() for number in re.findall(r"arXiv (\d{4}\.\d{4,5})", claim.source)} <= known


def test_all_that_readers_ask_for_are_in_it():
    names = {paper.name for paper in related.load()}
    assert {" ".join(name.split()) for name in ASKED.split(",")} <= names


def test_what_was_not_found_is_not_described_and_all_else_is():
    for paper in related.load():
        told = [paper.title, paper.link, paper.source, paper.what]
        assert all(told) if paper.state != "not found" else not any([*told, paper.names, paper.reason]), paper.name


def test_the_data_are_installed_with_the_package():
    import tomllib

    settings = tomllib.loads((paths.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert related.DATA.parent == paths.PACKAGE and "*.yml" in settings["tool"]["setuptools"]["package-data"]["marslab"]


# the reader


def test_an_entry_is_read_as_text_with_its_link_and_its_state(loaded):
    one, two, three, four = loaded(
        GOOD,
        changed(name="Two", arxiv="2510.21800", rule=None, claim="sgd_rate, qhm_identity"),
        changed(name="Three", arxiv=None, url="https://example.org/a?b=1", rule=None, **{"out of scope": "because of <it>"}),
        {"name": "Four", "status": "not found"},
    )
    assert one == Paper("One", "rule", ("sgd",), "", "Some", "On One", "2411.10438", "", "read", "a method")
    assert (one.link, one.where, one.standing) == ("https://arxiv.org/abs/2411.10438", "arXiv 2411.10438", "rule: sgd")
    assert two.arxiv == "2510.21800" and two.standing == "claim: sgd_rate, qhm_identity"
    assert (three.link, three.where) == ("https://example.org/a?b=1", "example.org")
    assert three.standing == "out of scope: because of <it>"
    assert four == Paper("Four", "not found") and (four.link, four.where, four.standing) == ("", "", "not found")


def test_a_number_that_ends_in_zero_needs_no_quotes(tmp_path):
    (tmp_path / "a.yml").write_text("- {name: A, family: F, title: T, arxiv: 2510.21800, source: read, what: w, rule: sgd}\n")
    assert related.load(tmp_path / "a.yml")[0].arxiv == "2510.21800"


@pytest.mark.parametrize(
    "changes, words",
    [
        (dict(claim="sgd_rate"), "it has 2 states (rule, claim): give one of rule, claim, out of scope, not found"),
        (dict(status="not found"), "it has 2 states (rule, status)"),
        (dict(rule=None), "it has 0 states (none)"),
        (dict(title=None), "title is missing; what cannot be identified has 'status: not found' instead"),
        (dict(what=None), "what is missing"),
        (dict(source=None), "source is missing"),
        (dict(family=None), "family is missing"),
        (dict(arxiv=None), "give arxiv or url, one of them"),
        (dict(url="https://example.org/a"), "give arxiv or url, one of them"),
        (dict(title=""), "title is empty or no text"),
        (dict(title=["a"]), "title is empty or no text"),
        (dict(source="heard"), "source = 'heard' must be one of read, secondary, recalled"),
        (dict(arxiv=None, url="http://example.org/a"), "url = 'http://example.org/a' is no https link"),
        (dict(arxiv=None, url="https://example.org"), "is no https link"),
        (dict(arxiv=None, url="javascript:alert(1)"), "is no https link"),
        *((dict(arxiv=bad), "is no number such as 2411.10438") for bad in (
            "2411.1043", "2411.104380", "2413.10438", "2400.10438", "1412.06980", "241110438", "arXiv:2411.10438",
            "2411.10438v4", "https://arxiv.org/abs/2411.10438", "2411.10438 ", "math/01234",
        )),
        (dict(rule="sgd, sgd"), "rule = 'sgd, sgd' must be names, each once, with commas between them"),
        (dict(rule="sgd mars"), "must be names"),
        (dict(rule=None, claim="sgd_rate,"), "must be names"),
        (dict(rule=None, **{"out of scope": "too large"}), "out of scope needs a reason that starts with 'because'"),
        (dict(rule=None, status="lost"), "status can only be 'not found', not 'lost'"),
        (dict(rule=None, status="not found"), "what is not found has a name and a status, and nothing else"),
    ],
)  # fmt: skip
def test_an_unsound_entry_is_one_sentence_that_names_it(loaded, changes, words):
    with pytest.raises(UsageError, match=re.escape("related.yml, entry 'One'")) as caught:
        loaded(changed(**changes))
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_an_unknown_field_is_refused_with_the_closest(loaded):
    with pytest.raises(UsageError, match=r"entry 'One', 'titel': did you mean 'title'\?"):
        loaded(GOOD | {"titel": "a"})


@pytest.mark.parametrize("number", ["hep-th/9901001", "math.OC/0601001", "0704.0001", "1412.6980", "1501.00001"])
def test_old_and_new_numbers_are_known(loaded, number):
    assert loaded(changed(arxiv=number))[0].link == f"https://arxiv.org/abs/{number}"


@pytest.mark.parametrize(
    "other, words",
    [
        (dict(arxiv="1905.10018"), "keep one entry for one"),
        (dict(name="oNE", arxiv="1905.10018"), "keep one entry for one"),
        (dict(name="Two"), "keep one entry for https://arxiv.org/abs/2411.10438"),
        (dict(name="Two", arxiv=None, url="https://arxiv.org/abs/2411.10438"), "keep one entry for https://arxiv.org/abs/2411"),
    ],
)
def test_a_name_and_a_paper_may_come_once(loaded, other, words):
    with pytest.raises(UsageError, match=re.escape(words)):
        loaded(GOOD, changed(**other))


@pytest.mark.parametrize(
    "text, words",
    [
        ("- {name: A, rule: sgd, rule: mars}\n", "'rule' is given twice"),
        ("- [", "cannot be read: "),
        ("", "is no list of entries"),
        ("name: A\n", "is no list of entries"),
        ("- A\n", "is no list of entries"),
        ("- {title: A}\n", "has an entry without a name"),
        ("- {name: [A]}\n", "has an entry without a name"),
        ("- !!python/object/apply:os.getcwd []\n", "is no list of entries"),
    ],
)
def test_a_file_that_is_no_list_is_one_sentence(tmp_path, text, words):
    (tmp_path / "related.yml").write_text(text)
    with pytest.raises(UsageError, match=re.escape(words)) as caught:
        related.load(tmp_path / "related.yml")
    assert "\n" not in str(caught.value)


def test_a_rule_or_claim_that_does_not_exist_is_refused_with_the_closest(loaded):
    related.check(loaded(GOOD))
    with pytest.raises(UsageError, match=r"unknown rule in related.yml, entry 'One', 'sgdd': did you mean 'sgd'\?"):
        related.check(loaded(changed(rule="sgdd")))
    with pytest.raises(UsageError, match=r"unknown claim in related.yml, entry 'One', 'sgd_rat': did you mean 'sgd_rate'\?"):
        related.check(loaded(changed(rule=None, claim="sgd_rat")))
    related.check(loaded(changed(rule="later")), rules=["later"])


# the terminal


def test_the_list_shows_every_paper_with_its_number_and_state():
    papers = related.load()
    lines = related.lines(papers)
    counts = related.tally(papers)
    assert sum(counts.values()) == len(papers) and all(counts[state] for state in related.STATES)
    assert lines[0] == (
        f"related ({len(papers)}): {counts['rule']} as rules, {counts['claim']} as claims, "
        f"{counts['out of scope']} out of scope, {counts['not found']} not found"
    )
    assert "secondary: " in lines[1]
    for paper in papers:
        head = f'  {paper.name}, "{paper.title}" ({paper.where}, {paper.source})' if paper.title else f"  {paper.name}"
        assert lines[lines.index(head) + 1] == f"      {paper.standing}"
    assert lines.index("Not found") > max(
        lines.index(heading) for heading in related.families(papers) if heading != "Not found"
    )


def test_the_command_lists_them_alone_or_behind_the_kinds(monkeypatch, capsys, loaded):
    papers = loaded(GOOD)
    monkeypatch.setattr(related, "load", lambda: papers)
    assert cli.main(["list", "--related"]) == 0
    alone = capsys.readouterr().out
    assert alone.startswith("related (1): 1 as rules, ") and "noise (" not in alone
    assert cli.main(["list", "noise", "--related"]) == 0
    both = capsys.readouterr().out
    assert both.startswith("noise (") and both.endswith("\n\n" + alone)
    assert cli.main(["list", "noise"]) == 0 and "related (" not in capsys.readouterr().out


def test_an_unsound_list_is_one_sentence_and_exit_status_two(monkeypatch, capsys, loaded):
    papers = loaded(changed(rule="later"))
    monkeypatch.setattr(related, "load", lambda: papers)
    assert cli.main(["list", "--related"]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.startswith("marslab: unknown rule in related.yml, entry 'One', 'later'")


# the page


def outward(found):
    """Links that leave the file; each is https or goes to the ledger."""
    links = {value for value in found.values("href") if not value.startswith("#")}
    assert all(re.fullmatch(rf"https://\S+|{page.INDEX}(#\w+)?", link) for link in links)
    return links


def test_the_page_holds_every_paper_its_link_and_the_counts():
    papers = related.load()
    found = self_contained(related_page.build(papers), links=outward)
    assert {paper.link for paper in papers if paper.link} < set(found.values("href"))
    assert set(found.values("for")) <= set(found.values("id")) and len(found.all("article")) == len(papers)
    ids = found.values("id")
    assert len(set(ids)) == len(ids)
    for paper in papers:
        for words in (paper.name, paper.title, paper.where, paper.what, paper.reason, *paper.names):
            assert " ".join(words.split()) in found.text, paper.name
    for state, count in related.tally(papers).items():
        assert f"{count} {related.COUNTED[state]}" in found.text
        assert [each["class"] for each in found.all("article")].count(related_page.CHOICES[state]) == count
    assert f"{len(papers)} in all" in found.text


def test_a_paper_links_to_the_claims_that_quote_it(loaded):
    text = related_page.build(loaded(GOOD, changed(name="Two", arxiv="1912.02365", rule=None, claim="sgd_rate")))
    quoting = [name for name, claim in CLAIMS.items() if "2411.10438" in claim.source]
    assert f"source of {len(quoting)} claims of the ledger" in text
    assert all(f"href='{page.INDEX}#{name}'" in text for name in quoting)
    assert "source of 1 claim" not in text and f"<a href='{page.INDEX}#sgd_rate'><code>sgd_rate</code></a>" in text


def test_hostile_words_are_shown_as_words(loaded):
    hostile = " ".join(HOSTILE.split())
    papers = loaded(
        changed(name=HOSTILE, family=HOSTILE, title=HOSTILE, what=HOSTILE, arxiv=None, url="https://a/'>\"<b>&amp;"),
        changed(name="Two", rule=None, **{"out of scope": f"because {HOSTILE}"}),
        {"name": f"Three {HOSTILE}", "status": "not found"},
    )
    found = self_contained(related_page.build(papers), links=outward)
    assert found.text.count(hostile) == 6 and "https://a/'>\"<b>&amp;" in found.values("href")


def test_the_page_is_written_whole_or_not_at_all_beside_the_ledger_which_links_to_it(monkeypatch, tmp_path, loaded):
    papers = loaded(GOOD)
    (tmp_path / "figures").mkdir()
    monkeypatch.setattr(paths, "FIGURES", tmp_path / "figures")
    (tmp_path / "figures" / ".related.html.999999999-1.0badcafe.tmp").write_text("half")
    path = related_page.write_page(papers)
    ledger = page.write_page([], [])
    assert sorted(paths.FIGURES.iterdir()) == [ledger, path]
    for here, there in ((path, ledger), (ledger, path)):
        assert there.name in Reader(here.read_text("utf-8")).values("href")
    monkeypatch.setattr(paths, "FIGURES", tmp_path / "missing")
    with pytest.raises(StoreError, match="make the checkout's figures folder writable"):
        related_page.write_page(papers)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_filters_in_a_browser_and_fits_a_telephone(monkeypatch, tmp_path, scheme):
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    if program is None:
        pytest.skip("there is no chromium on this machine")
    monkeypatch.setattr(paths, "FIGURES", tmp_path)
    path, counts = related_page.write_page(), related.tally(related.load())
    with driver.sync_playwright() as session:
        opened = session.chromium.launch(executable_path=program, args=FLAGS)
        tab = opened.new_context(offline=True, color_scheme=scheme, viewport={"width": 1000, "height": 700}).new_page()
        seen, errors = [], []
        tab.on("request", lambda request: seen.append(request.url))
        tab.on("console", lambda message: errors.append(message.text))
        tab.goto(path.as_uri())
        for width in (1000, 375, 320):
            tab.set_viewport_size({"width": width, "height": 700})
            assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width
        for state, kind in related_page.CHOICES.items():
            tab.click(f"label[for=state-{kind}]")
            assert tab.locator("article:visible").count() == counts[state]
            assert tab.locator("section:visible").count() == tab.locator(f"section:has(.{kind})").count()
        tab.click("label[for=state-all]")
        assert tab.locator("article:visible").count() == sum(counts.values())
        dark = tab.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        assert dark == (scheme == "dark") and errors == [] and seen == [path.as_uri()]
        opened.close()
