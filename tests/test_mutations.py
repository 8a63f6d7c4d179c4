"""Ten faults in the library, one at a time: each must flip at least three verdicts of the ledger.

Every fault is a change of the text of a copy, measured there from an empty store: the symbolic and exact claims, and the ten
Monte-Carlo claims that took the least time in the copy without a fault.
"""

import json
import shutil
import subprocess
import sys

import pytest
from mutations import MUTATIONS
from small_checkout import HOME, environment

from marslab.claims import CLAIMS

CHEAPEST, FLIPPED = 10, 3
MEASURE = """
import json, sys
from marslab import experiment, ledger, work
names = sys.argv[1:]
needed = sorted({e for claim in ledger.chosen(names).values() for e in claim.experiments})
work.perform(work.missing_experiments(needed, "quick"), 2, lambda *_: None)
work.perform(work.missing_claims(names, "quick"), 2, lambda *_: None)
rows = {e.claim.name: (e.verdicts["quick"].verdict, e.rows["quick"].seconds) for e in ledger.entries(names) if e.rows}
print("\\n" + json.dumps(rows))
"""


def copy_of_the_checkout(folder, changes=()):
    """Library and experiments, without what is published, with some of the text changed."""
    ignore = shutil.ignore_patterns("__pycache__", "published")
    for part in ("marslab", "experiments"):
        shutil.copytree(HOME / part, folder / part, ignore=ignore)
    (folder / "figures").mkdir()
    shutil.copy(HOME / "pyproject.toml", folder)
    for path, old, new in changes:
        text = (folder / path).read_text("utf-8")
        assert text.count(old) == 1, f"{path} no longer has {old!r}"
        (folder / path).write_text(text.replace(old, new), "utf-8")
    return folder


def measured(folder, names):
    """{claim: (verdict, seconds)} of the copy, from an empty store; claims that cannot be measured are left out."""
    command = [sys.executable, "-c", MEASURE, *names]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder, folder / "store"), capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The verdicts without a fault, of the symbolic and exact claims and of the cheapest Monte-Carlo ones."""
    names = [name for name, claim in CLAIMS.items() if claim.kind in ("symbolic", "exact")]
    sampled = [name for name, claim in CLAIMS.items() if claim.kind == "Monte Carlo" and not claim.experiments]
    found = measured(copy_of_the_checkout(tmp_path_factory.mktemp("sound")), names + sampled)
    assert set(found) == {*names, *sampled}
    cheapest = sorted(sampled, key=lambda name: found[name][1])[:CHEAPEST]
    return {name: found[name][0] for name in (*names, *cheapest)}


def test_the_faults_can_be_put_in(tmp_path):
    assert len(MUTATIONS) == 10
    for number, changes in enumerate(MUTATIONS.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        copy_of_the_checkout(folder, changes)
        for path, _, _ in changes:
            compile((folder / path).read_text("utf-8"), path, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("fault", MUTATIONS)
def test_a_fault_flips_verdicts(fault, sound, tmp_path):
    found = measured(copy_of_the_checkout(tmp_path, MUTATIONS[fault]), sound)
    flipped = {name: (sound[name], verdict) for name, (verdict, _) in found.items() if verdict != sound[name]}
    assert len(flipped) >= FLIPPED, flipped
