"""The page: valid, self-contained, escaped, with every claim and figure on it, and working in a browser without a network."""

import dataclasses
import html.parser
import re
import shutil
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from marslab import claims, draw, experiment, ledger, page, paths, plots
from marslab.claims.base import Claim, Finding
from marslab.draw import Drawn
from marslab.errors import StoreError
from marslab.noise import additive
from marslab.optimizers import sgd
from marslab.verdicts import Measurement

VOID = {"meta", "br", "img", "link", "hr", "input"}
HOSTILE = "<script>alert('x')</script> & \"quotes\" T^(-1/4) </details></body>"


class Reader(html.parser.HTMLParser):
    """Balanced tags, ids, links, sources and the text of a page."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        self.words.append(data)

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]

    def values(self, attribute):
        return [attributes[attribute] for _, attributes in self.tags if attribute in attributes]

    @property
    def text(self):
        return " ".join("".join(self.words).split())


def small(name="small", kind="Monte Carlo", estimate=0.2, **more):
    given = {} if kind in ("symbolic", "exact") else dict(standard_error=0.01, seeds=16)

    def measure(data):
        return Finding(Measurement(estimate, kind=kind, **given), 1000, 2000, more.pop("note", "a note"))

    fields = dict(name=name, statement="Statement.", source="Source", kind=kind, unit="unit", predict=lambda: 0.0, margin=1.0)
    return Claim(measure=measure, **(fields | {k: v for k, v in more.items() if k != "note"}))


@pytest.fixture
def drawn(tmp_path):
    """One figure of the experiment rate_sgd."""

    def draw_one(name="rate_sgd", caption="What is seen.", origin="computed here, key abc"):
        figure, ax = plt.subplots(figsize=(2, 1))
        ax.plot([1, 2])
        plots.save(figure, tmp_path / f"{name}.png", {})
        plt.close(figure)
        return Drawn(name, tmp_path / f"{name}.png", caption, {"rate_sgd": origin}, True)

    return draw_one


def build(monkeypatch, made, figures=(), mode="quick"):
    monkeypatch.setattr(claims, "CLAIMS", {each.name: each for each in made})
    for each in made:
        each.row()
    return page.build(ledger.entries(), figures, mode)


def to_its_neighbour(found):
    """The links that leave the ledger: the one to the page of related work."""
    return {value for value in found.values("href") if value == page.RELATED}


def self_contained(text, links=to_its_neighbour):
    """No source or style reaches outside the file, and no link but those that `links` allows."""
    found = Reader(text)
    for attribute in ("src", "href", "srcset", "data", "action", "poster", "background"):
        allowed = links(found) if attribute == "href" else ()
        assert all(
            value.startswith(("data:image/png;base64,", "#")) for value in found.values(attribute) if value not in allowed
        )
    assert {"script", "link", "iframe", "object", "embed", "form", "base"}.isdisjoint(tag for tag, _ in found.tags)
    assert not re.search(r"url\(|@import|https?:", "".join(re.findall(r"<style>(.*?)</style>", text, re.DOTALL)))
    assert not [name for _, attributes in found.tags for name in attributes if name.startswith("on")]
    return found


def linked(found):
    """Every link goes to an id, and ids are unique."""
    ids = found.values("id")
    assert len(set(ids)) == len(ids)
    assert {value[1:] for value in found.values("href") if value.startswith("#")} <= set(ids)
    return ids


def test_the_page_of_all_claims_is_valid_self_contained_and_complete(drawn):
    measured = ["stated_schedule", "storm_identity", "noiseless_coincidence"]
    for name in measured:
        claims.CLAIMS[name].row()
    claims.CLAIMS["stated_schedule"].row("full")
    figures = [drawn(name) for name in draw.names()]
    text = page.build(ledger.entries(), figures)
    assert text.startswith("<!doctype html>")
    found = self_contained(text)
    ids = linked(found)
    assert set(claims.CLAIMS) <= set(ids) and {f"figure-{name}" for name in draw.names()} <= set(ids)
    for name, claim in claims.CLAIMS.items():
        assert " ".join(claim.source.split()) in found.text, name
    assert found.text.count("not measured") == len(claims.CLAIMS) - len(measured) + 1  # and the filter
    assert len(found.all("img")) == len(draw.names()) and all(each["alt"] for each in found.all("img"))
    assert [tag for tag, _ in found.tags if tag in ("h1", "title")] == ["title", "h1"]
    assert found.all("meta")[0] == {"charset": "utf-8"}


def test_every_number_of_a_row_is_on_the_page_with_quick_and_full_side_by_side(monkeypatch, drawn):
    one = small(experiments=())
    monkeypatch.setattr(claims, "CLAIMS", {"small": one})
    quick, full = one.row("quick"), one.row("full")
    (entry,) = ledger.entries()
    found = Reader(page.build([entry], []))
    for words in (
        *("Statement.", "Source", "a note", "HOLDS quick", "HOLDS full", "quick, measured here", "full, measured here"),
        *(f"predicted {ledger.prediction(full)}", f"measured {ledger.number(full.measured)}", ledger.interval(full)),
        *(entry.verdicts["quick"].reason, ledger.number(quick.detectable), ledger.effort(quick)),
        f"marslab/claims/small.py {quick.prediction_hash}",
        *("quick: 1 HOLDS 0 FAILS 0 CANNOT TELL", "full: 1 HOLDS 0 FAILS 0 CANNOT TELL"),
    ):
        assert words in found.text, words
    assert " ".join(one.derivation.split()) in found.text
    assert found.text.count("16 seeds") == 2


def test_the_data_keys_of_a_row_are_on_the_page(monkeypatch):
    one = small()
    row = dataclasses.replace(one.row(), keys={"rate_sgd": "0123456789abcdef" + "f" * 48})
    entry = ledger.Entry(one, {"quick": row}, ledger.judge_all({"quick": row}), {"quick": "measured here"})
    assert "rate_sgd 0123456789abcdef" in Reader(page.build([entry], [])).text


def test_hostile_words_are_shown_as_words(monkeypatch, drawn, tmp_path):
    monkeypatch.setattr(paths, "EXPERIMENTS", tmp_path)
    (tmp_path / "rate_sgd.py").write_text(
        f"# {HOSTILE}\nfrom marslab.experiment import Experiment\nexperiment = Experiment('t', {HOSTILE!r}, {{}})\n"
    )
    one = small(statement=HOSTILE, source=HOSTILE, unit=HOSTILE, note=HOSTILE)
    figure = drawn(caption=HOSTILE, origin=HOSTILE)
    text = build(monkeypatch, [one], [figure])
    found = self_contained(text)
    linked(found)
    plain = HOSTILE.replace("^(-1/4)", "−1/4")
    assert found.text.count("<script>alert('x')</script>") >= 8 and plain in found.text
    row = dataclasses.replace(one.row(), name="<script>", prediction_hash="<b>", keys={"<i>": "<u>"})
    entry = ledger.Entry(one, {"quick": row}, ledger.judge_all({"quick": row}), {"quick": "<em>"})
    self_contained(page.build([entry], []))


def test_settings_and_their_budgets_are_on_the_page(monkeypatch):
    one = dataclasses.replace(small(), measure=lambda data, **_: Finding(Measurement(0.0, kind="exact")), kind="exact")
    one = dataclasses.replace(one, settings={"rule": sgd, "steps": experiment.Budget(10, 99), "law": additive(0.5)})
    monkeypatch.setattr(claims, "CLAIMS", {"small": one})
    one.row("quick"), one.row("full")
    seen = Reader(page.build(ledger.entries(), [])).text
    assert "rule = sgd; steps = 10; law = Additive(" in seen and "steps = 99" in seen


def test_formulas_are_set_and_names_left_alone():
    cases = {
        "eta_t = (s + t)^(-1/3)": "η<sub>t</sub> = (s + t)<sup>−1/3</sup>",
        "beta_{1,t+1} = 1 - c eta_t^2": "β<sub>1,t+1</sub> = 1 − c η<sub>t</sub><sup>2</sup>",
        "-beta1^t g'_t": "-β<sub>1</sub><sup>t</sup> g&#x27;<sub>t</sub>",
        "E|eps_t|^2 <= eta/rho": "E|ε<sub>t</sub>|<sup>2</sup> ≤ η/ρ",
        "grad F(x_{t-1})": "∇F(x<sub>t-1</sub>)",
        "claim gamma_star_for_every_gamma at gamma = 1.": "claim gamma_star_for_every_gamma at γ = 1.",
        "mars_adamw, theory.gamma, beta2_product, marslab/eta.py": "mars_adamw, theory.gamma, beta2_product, marslab/eta.py",
    }
    for written, set_ in cases.items():
        assert page.typeset(written) == set_


def test_a_derivation_runs_on_but_for_its_formulas():
    text = page.paragraphs("One line\nruns on.\n\n    a = b\n    c = d\n\n* first\n* second")
    assert text == "<p>One line runs on.</p><p class='formula'>a = b<br>c = d</p><p>* first\n* second</p>"


def test_powers_are_raised_and_nothing_else():
    assert page.typeset("falls like T^(-1/3), c^3 and βᵗ") == "falls like T<sup>−1/3</sup>, c<sup>3</sup> and βᵗ"
    assert page.typeset("10^6 < 10^-2") == "10<sup>6</sup> &lt; 10<sup>−2</sup>"
    assert page.typeset("a & b") == "a &amp; b"


def test_a_claim_links_to_its_figure_where_there_is_one(monkeypatch, drawn):
    made = [small("a", figure="rate_sgd"), small("b", experiments=("rate_sgd",)), small("c")]
    monkeypatch.setattr(claims, "CLAIMS", {each.name: each for each in made})
    for each in made:
        each.row() if not each.experiments else None
    text = page.build(ledger.entries(), [drawn()])
    assert text.count("href='#figure-rate_sgd'") == 2
    assert "href='#" not in page.build(ledger.entries(), [])


def test_a_figure_stands_with_question_origin_and_declaration(drawn):
    text = page.gallery(drawn(), "quick")
    found = Reader(text)
    declared = experiment.load("rate_sgd")
    for words in (declared.question, "What is seen.", "quick; rate_sgd: computed here, key abc", 'title="SGD with a step size'):
        assert words in found.text
    assert found.all("img")[0]["width"] == str(round(2 * 100 * draw.PIXELS))


def test_a_committed_row_that_cannot_be_used_is_on_the_page(monkeypatch):
    one = small()
    entry = ledger.Entry(one, {}, {}, {"quick": "", "full": "it is <not> intact"})
    assert "small, full: it is <not> intact" in Reader(page.build([entry], [])).text


def test_the_page_is_written_whole_or_not_at_all_and_strays_are_swept(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "FIGURES", tmp_path)
    (tmp_path / ".index.html.999999999-1.0badcafe.tmp").write_text("half")
    assert page.write_page([], []) == tmp_path / "index.html"
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    first = (tmp_path / "index.html").read_bytes()
    monkeypatch.setattr(paths, "FIGURES", tmp_path / "missing")
    with pytest.raises(StoreError, match="make the checkout's figures folder writable"):
        page.write_page([], [])
    assert (tmp_path / "index.html").read_bytes() == first


# a real browser

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


@pytest.fixture
def browser():
    """Chromium, driven by playwright."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    if program is None:
        pytest.skip("there is no chromium on this machine")
    with driver.sync_playwright() as session:
        opened = session.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()


def test_the_page_works_in_a_browser_without_a_network(monkeypatch, tmp_path, drawn, browser):
    made = [claims.CLAIMS["stated_schedule"], small("small", statement="T^(-1/4) & more.", figure="rate_sgd")]
    monkeypatch.setattr(paths, "FIGURES", tmp_path)
    monkeypatch.setattr(claims, "CLAIMS", {each.name: each for each in made})
    for each in made:
        each.row()
    path = page.write_page(ledger.entries(), [drawn()])
    context = browser.new_context(offline=True, viewport={"width": 1000, "height": 700})
    tab, seen, errors = context.new_page(), [], []
    tab.on("request", lambda request: seen.append(request.url))
    tab.on("console", lambda message: errors.append(message.text))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(path.as_uri())
    assert tab.title() == "marslab: the ledger"
    line, inside = tab.locator("details#stated_schedule > summary"), tab.locator("details#stated_schedule .inside")
    assert not inside.is_visible()
    line.click()
    assert inside.is_visible() and "2044" in inside.inner_text()
    assert tab.locator("details#stated_schedule .badge.FAILS").first.is_visible()
    assert tab.locator("details#small sup").first.inner_text() == "−1/4"
    lines = tab.locator("main > details:visible")
    choices = {"verdict-FAILS": ["stated_schedule"], "verdict-CANNOT": [], "verdict-HOLDS": ["small"], "kind-symbolic": []}
    choices |= {"verdict-all": ["stated_schedule"], "kind-all": ["small", "stated_schedule"]}
    for label, shown in choices.items():
        tab.click(f"label[for={label}]")
        assert sorted(lines.nth(i).get_attribute("id") for i in range(lines.count())) == shown, label
    tab.locator("details#small > summary").click()
    tab.locator("details#small a").click()
    image = tab.locator("#figure-rate_sgd img")
    assert image.is_visible() and image.evaluate("image => image.complete && image.naturalWidth > 0")
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    tab.set_viewport_size({"width": 375, "height": 700})  # a telephone
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert errors == [] and all(url.startswith(("file://", "data:")) for url in seen)
    context.close()


def test_the_drawn_page_of_this_checkout_is_in_order():
    """The page that stands in figures/, if one was drawn: whatever made it, it is self-contained and its links resolve."""
    path = Path(paths.FIGURES) / "index.html"
    if not path.is_file():
        pytest.skip("no page has been drawn in this checkout")
    linked(self_contained(path.read_text("utf-8")))
