"""The README's snippets run as printed, in order, and give the numbers in their comments."""

import re

import pytest

from marslab import paths

README = (paths.ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.fixture(scope="module")
def namespace():
    """What the seven snippets, run one after another, leave behind."""
    names = {}
    for snippet in SNIPPETS:
        exec(compile(snippet, "README.md", "exec"), names)
    return names


def test_there_are_seven_snippets():
    assert len(SNIPPETS) == 7


def test_the_snippets_run_and_their_objects_are_what_the_text_says(namespace):
    assert dict(namespace["run"].sizes)["seed"] == 16
    assert dict(namespace["sweep"].sizes)["gamma"] == 4
    assert int(namespace["sweep"].evaluations[-1]) == 3999
    assert namespace["verdict"].verdict == "FAILS"
    assert namespace["ml"].identities.prove("lion", "zero").holds
    assert namespace["loss"].item() < 1.5


def test_the_numbers_in_the_comments_are_right(namespace):
    ml, exact = namespace["ml"], namespace["exact"]
    slope = ml.rates.fit(exact.step.values, exact.error_squared.values**0.5, window=(1e4, 1e6)).slope
    assert abs(slope - -0.336) < 5e-4
    assert abs(ml.moments.stability_limit("mars", exact=False, gamma=0.025, beta1=0.95) - 40) < 1e-6
    gamma = namespace["sympy"].Symbol("gamma")
    assert ml.symbolic.difference("mars", "storm", exact=True, first="zero", gamma=1) == 0
    assert ml.symbolic.difference("mars", "qhm", exact=False, first="zero", b={"nu": 1 - gamma}) == 0


def test_links_and_folders_of_the_readme_exist():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (paths.ROOT / target).exists(), target
    for folder in re.findall(r"^\| `(\w+)/` \|", README, re.MULTILINE):
        assert (paths.ROOT / folder).is_dir(), folder
