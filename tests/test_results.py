"""The store keeps results exactly, under keys that follow what made them."""

import dataclasses
import hashlib
import json
import subprocess
import sys
import time

import h5netcdf
import numpy as np
import pytest
import xarray as xr

from marslab import paths, results
from marslab.canonical import canonical_text
from marslab.errors import StoreError, UsageError
from marslab.results import committed, origin

MODULES = ["marslab.pieces"]


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("MARSLAB_STORE", str(tmp_path / "store"))
    return tmp_path / "store"


def sample(steps=5, seed=0):
    """A dataset with every kind of value that an experiment records."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(3, 2, steps)) * 10.0 ** random.integers(-300, 300, size=(3, 2, steps))
    values[0, 0, -1], values[1, 1, 0], values[2, 0, 0] = np.inf, -0.0, 5e-324
    return xr.Dataset(
        {
            "grad_norm": (("gamma", "seed", "step"), values, {"units": "days since 2000-01-01", "scale_factor": 2.0}),
            "diverged": (("gamma", "seed"), values[:, :, -1] == np.inf),
            "evaluations": ("step", np.arange(steps) * 2**60),
            "small": ("step", np.arange(steps, dtype=np.uint8)),
            "single": ("step", np.float32(random.normal(size=steps))),
            "scalar": ((), 0.1),
            "nothing": (("none", "step"), np.zeros((0, steps))),
            "when": ("step", np.arange(steps).astype("datetime64[ns]")),
        },
        coords={
            "gamma": [0.0, 0.1 + 0.2, np.inf],
            "rule": ("gamma", ["mars", "größer", ""]),
            "seed": np.arange(2),
            "step": np.arange(steps) ** 2,
            "exact": ("seed", [True, False]),
            "label": "a lone text",
        },
        attrs={"a": 1, "b": 1.5, "c": [1, 2.0, "x"], "d": None, "e": True, "f": {"g": np.inf}, "h": "", "i": 2**70},
    )


def assert_bitwise(found, expected):
    assert list(found.variables) == list(expected.variables) or set(found.variables) == set(expected.variables)
    assert set(found.coords) == set(expected.coords) and found.sizes == expected.sizes
    for name, variable in expected.variables.items():
        assert found[name].dims == variable.dims and found[name].dtype == variable.dtype, name
        assert found[name].attrs == variable.attrs, name
        if variable.dtype.kind not in "UO":
            assert found[name].values.tobytes() == variable.values.tobytes(), name
        assert np.array_equal(found[name].values, variable.values, equal_nan=variable.dtype.kind == "f"), name
    assert {name: found.attrs[name] for name in expected.attrs} == expected.attrs


def test_a_result_reads_back_bit_for_bit():
    key = results.key({"a": 1}, MODULES)
    for steps in (1, 5, 3000):
        returned = results.save(key, sample(steps), name="one")
        assert_bitwise(returned, sample(steps))
        assert_bitwise(results.load(key), sample(steps))
        assert returned.identical(results.load(key))


def test_several_runs_with_different_dimensions_read_back():
    runs = {"mars, exact": sample(3), "sgd": sample(7, seed=1).isel(gamma=0), "ε|x": xr.Dataset()}
    found = results.compute("many", {}, MODULES, lambda: runs)
    again = results.compute("many", {}, MODULES, lambda: 1 / 0)
    assert list(found) == list(again) == list(runs)
    for label, run in runs.items():
        assert_bitwise(found[label], run)
        assert found[label].identical(again[label])


def test_any_netcdf_tool_opens_the_file(store):
    results.compute("one", {}, MODULES, lambda: sample())
    (file,) = store.glob("*.nc")
    with xr.open_dataset(file, decode_cf=False, engine="h5netcdf") as dataset:
        assert dataset.grad_norm.values.tobytes() == sample().grad_norm.values.tobytes()
        assert dataset.attrs["name"] == "one"
    results.compute("two", {"b": 1}, MODULES, lambda: {"sgd": sample()})
    (file,) = store.glob("two*.nc")
    with h5netcdf.File(file, "r") as opened:
        assert list(opened.groups) == ["sgd"]


def test_the_same_key_is_not_computed_twice():
    calls = []

    def function():
        calls.append(1)
        return sample()

    configuration = {"lr": 0.1, "gammas": (0, np.inf)}
    first = results.compute("one", configuration, MODULES, function)
    again = results.compute("one", {"gammas": [0, np.inf], "lr": 0.1}, MODULES, function)
    assert len(calls) == 1 and first.identical(again)
    results.compute("one", configuration | {"lr": 0.2}, MODULES, function)
    results.compute("one", configuration, ["marslab.schedules"], function)
    assert len(calls) == 3
    assert results.remove(results.key(configuration, MODULES))
    assert not results.remove(results.key(configuration, MODULES))
    results.compute("one", configuration, MODULES, function)
    assert len(calls) == 4 and len(results.list_entries()) == 3


def test_the_key_follows_torch_minor_version_only(monkeypatch):
    def key(version):
        monkeypatch.setattr(origin, "version", lambda package: version)
        return results.key({}, MODULES)

    assert key("2.13.0+cpu") == key("2.13.1") != key("2.14.0")


def test_torch_is_not_imported():
    code = "import sys; from marslab import results; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@dataclasses.dataclass(frozen=True)
class Quadratic:
    spectrum: tuple = (1.0, 0.1)
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class Bowl(Quadratic):
    pass


def schedule(t):
    return t


def scheduled(power):
    function = lambda t: t**power
    function.configuration = {"power": power}
    return function


SAME = [
    ({"a": 1, "b": [1, 2]}, {"b": (1, 2), "a": 1}),
    ({"a": np.float64(0.1)}, {"a": 0.1}),
    ({"a": np.int64(3)}, {"a": 3}),
    ({"a": np.bool_(True)}, {"a": True}),
    ({"a": np.array([[1.0, np.inf]])}, {"a": [[1.0, np.inf]]}),
    ({"a": range(3)}, {"a": [0, 1, 2]}),
    ({"a": Quadratic((1, 2))}, {"a": Quadratic([1, 2])}),
    ({"a": scheduled(-0.5)}, {"a": scheduled(-0.5)}),
    ({"a": float("nan")}, {"a": np.nan}),
]
DIFFERENT = [
    ({"a": 1}, {"a": True}),
    ({"a": 1}, {"a": 1.0}),
    ({"a": 0.1}, {"a": 0.1 + 1e-17 + 2e-17}),
    ({"a": 0.0}, {"a": -0.0}),
    ({"a": "1"}, {"a": 1}),
    ({"a": None}, {}),
    ({"a": np.inf}, {"a": -np.inf}),
    ({"a": Quadratic()}, {"a": Bowl()}),
    ({"a": Quadratic()}, {"a": Quadratic(seed=1)}),
    ({"a": [[1], 2]}, {"a": [1, [2]]}),
    ({"a": scheduled(-0.5)}, {"a": scheduled(-0.25)}),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_one_meaning_has_one_text(one, two):
    assert canonical_text(one) == canonical_text(two)
    json.loads(canonical_text(one), parse_constant=lambda name: pytest.fail(name))


@pytest.mark.parametrize(("one", "two"), [pair for pair in DIFFERENT if pair[0] != pair[1] or repr(pair[0]) != repr(pair[1])])
def test_two_meanings_have_two_texts(one, two):
    assert canonical_text(one) != canonical_text(two)


def test_the_text_is_known_to_the_letter():
    text = canonical_text({"problem": Quadratic(), "lr": 1e-3, "clip": np.inf, "name": "ü"})
    assert text == ('{"clip":"inf","lr":0.001,"name":"\\u00fc","problem":{"class":"Quadratic","seed":0,"spectrum":[1.0,0.1]}}')


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        ({"lr": schedule}, r"configuration\.lr holds the function schedule"),
        ({"a": [1, {"b": object()}]}, r"configuration\.a\[1\]\.b holds an object of type builtins\.object"),
        ({"a": {1: 2}}, r"configuration\.a has the key 1"),
        ({"a": {1, 2}}, r"builtins\.set"),
        ({"a": 1j}, r"builtins\.complex"),
    ],
)
def test_what_has_no_stable_text_is_refused(configuration, words, store):
    with pytest.raises(UsageError, match=words):
        results.compute("one", configuration, MODULES, sample)
    assert not store.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.assign(z=("step", np.ones(5) * 1j)), "variable z has the type complex128"),
        (lambda d: d.assign(z=("step", np.float16(np.ones(5)))), "float16"),
        (lambda d: d.assign(z=("step", np.array([1, "a", None, 2, 3], dtype=object))), "type object"),
        (lambda d: d.assign({"a/b": 1.0}), "name 'a/b'"),
        (lambda d: d.assign({3: 1.0}), "name 3"),
        (lambda d: d.assign_attrs(problem=object()), "attribute problem of the dataset is of type object"),
        (lambda d: d.assign(z=("step", ["a\0b"] * 5)), "holds the text"),
        (lambda d: 3, "not int"),
        (lambda d: {}, "empty dictionary"),
        (lambda d: {"a": 3}, "not dict"),
        (lambda d: {"a/b": d}, "label 'a/b'"),
    ],
)
def test_what_cannot_be_kept_exactly_is_refused(change, words, store):
    with pytest.raises(UsageError, match=words):
        results.compute("one", {}, MODULES, lambda: change(sample()))
    assert not list(store.iterdir())


@pytest.mark.parametrize("name", ["", "a/b", "../up", ".hidden", "a b", "x" * 101, 3])
def test_a_bad_name_is_refused(name, store):
    with pytest.raises(UsageError, match="cannot name a result"):
        results.compute(name, {}, MODULES, sample)
    assert not store.exists()


@pytest.mark.parametrize("key", ["", "xyz", "ABCDEF0123456789", "0" * 65, 3])
def test_a_bad_key_is_refused(key):
    with pytest.raises(UsageError, match="is no key"):
        results.load(key)


def test_a_missing_result_is_told():
    with pytest.raises(StoreError, match="no intact result with the key " + "0" * 64):
        results.load("0" * 64)
    assert results.find("0" * 64) is None and results.list_entries() == []


def test_the_attributes_tell_where_a_result_comes_from(store):
    configuration = {"lr": 0.1}
    found = results.compute("one", configuration, MODULES, lambda: sample().assign_attrs(platform="its own"))
    attributes = found.attrs
    assert attributes["key"] == results.key(configuration, MODULES) and attributes["name"] == "one"
    assert json.loads(attributes["configuration"]) == configuration
    assert json.loads(attributes["fingerprint"]) == results.identify(configuration, MODULES).table
    assert set(json.loads(attributes["versions"])) == {"python", "torch", "numpy", "xarray", "marslab"}
    assert attributes["duration"] >= 0 and attributes["created"].endswith("+00:00")
    assert attributes["dirty"] in ("yes", "no", "unknown") and attributes["run_platform"] == "its own"
    assert len(attributes["commit"]) in (40, len("unknown"))


def test_no_host_name_and_no_path_is_recorded(store):
    import socket

    results.compute("one", {}, MODULES, sample)
    (file,) = store.glob("*.nc")
    content = file.read_bytes()
    assert str(paths.ROOT).encode() not in content and str(store).encode() not in content
    assert len(socket.gethostname()) < 4 or socket.gethostname().encode() not in content


def test_without_git_the_commit_is_unknown(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert origin.provenance()["commit"] == origin.provenance()["dirty"] == "unknown"


def test_another_repository_around_the_package_is_not_taken_for_ours(monkeypatch, tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "inner").mkdir()
    monkeypatch.setattr(origin, "ROOT", tmp_path / "inner")
    assert origin.provenance()["commit"] == "unknown"


def test_storing_again_keeps_no_old_provenance():
    first = results.compute("one", {"a": 1}, MODULES, sample)
    second = results.compute("two", {"a": 2}, MODULES, lambda: first)
    assert second.attrs["name"] == "two" and "run_name" not in second.attrs
    assert_bitwise(second, sample())


def test_entries_are_listed_with_what_is_wrong(store):
    results.compute("b", {}, MODULES, sample)
    results.compute("a.b-c", {"x": 1}, MODULES, sample)
    (store / "unrelated.nc").write_bytes(b"x")
    (store / ("bad-" + "0" * 16 + ".nc")).write_bytes(b"x")
    one, two, bad = results.list_entries()
    assert (one.name, two.name, bad.name) == ("a.b-c", "b", "bad")
    assert one.key == results.key({"x": 1}, MODULES) and one.problem == two.problem == "" and one.duration >= 0
    assert "not written by marslab" in bad.problem and bad.path.exists() and one.bytes == one.path.stat().st_size


def test_a_published_result_is_found_by_its_name(tmp_path):
    identity = results.identify({"a": 1}, MODULES)
    made = results.compute("one", {"a": 1}, MODULES, sample)
    path = results.publish(made, tmp_path / "published" / "one.nc", limit=200_000)
    data, note = results.published(path, identity.key)
    assert data.identical(made) and note == ""
    other = results.identify({"a": 1}, ["marslab.schedules"])
    assert results.published(path, other.key)[1] == "made by other code"
    note = results.published(path, other.key, table=other.table)[1]
    assert note.startswith("made by other code (modules ") and "marslab.schedules" in note
    third = results.identify({"a": 2}, MODULES)
    note = results.published(path, third.key, table=third.table, configuration={"a": 2})[1]
    assert note == "made with another configuration"


def test_a_published_result_of_another_torch_says_so(tmp_path, monkeypatch):
    made = results.compute("one", {}, MODULES, lambda: {"x": sample()})
    path = results.publish(made, tmp_path / "one.nc")
    monkeypatch.setattr(committed, "torch_version", lambda: "9.9")
    data, note = results.published(path, "f" * 64)
    assert note.startswith("made with torch ") and note.endswith("not 9.9") and data["x"].identical(made["x"])


def test_publishing_is_refused_with_the_reason(tmp_path):
    with pytest.raises(UsageError, match="came out of the store"):
        results.publish(sample(), tmp_path / "one.nc")
    made = results.compute("one", {}, MODULES, sample)
    with pytest.raises(UsageError, match="1000 are allowed"):
        results.publish(made, tmp_path / "one.nc", limit=1000)
    assert not (tmp_path / "one.nc").exists()


def test_a_published_result_is_never_moved(tmp_path):
    path = results.publish(results.compute("one", {}, MODULES, sample), tmp_path / "one.nc")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StoreError, match=r"one\.nc is not intact: .*; take it from git again"):
        results.published(path, "0" * 64)
    assert path.exists()
    with pytest.raises(StoreError, match="there is no published result"):
        results.published(tmp_path / "two.nc", "0" * 64)


def test_outside_a_checkout_the_store_must_be_named(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "EXPERIMENTS", tmp_path / "experiments")
    monkeypatch.delenv("MARSLAB_STORE")
    with pytest.raises(UsageError, match="set MARSLAB_STORE"):
        paths.store()
    with pytest.raises(UsageError, match="outside a checkout"):
        paths.need(paths.EXPERIMENTS)
    monkeypatch.undo()
    assert paths.need(paths.EXPERIMENTS) == paths.EXPERIMENTS


def test_the_store_lies_in_the_checkout_unless_moved(monkeypatch, tmp_path):
    assert paths.store() == tmp_path / "store"
    for unset in ("", "  "):
        monkeypatch.setenv("MARSLAB_STORE", unset)
        assert paths.store() == paths.ROOT / ".marslab"
    monkeypatch.setenv("MARSLAB_STORE", "~/results")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.store() == tmp_path / "results"


def test_the_container_is_as_described(store):
    results.compute("one", {}, MODULES, sample)
    (file,) = store.glob("*.nc")
    content = file.read_bytes()
    assert content[-32:] == hashlib.sha256(content[:-32]).digest() and content[-48:-40] == b"marslab\x01"
    assert int.from_bytes(content[-40:-32], "little") == len(content) - 48 and content[:4] == b"\x89HDF"


def test_finding_a_result_is_quick():
    results.compute("one", {}, MODULES, lambda: sample(20_000))
    start = time.monotonic()
    results.compute("one", {}, MODULES, lambda: 1 / 0)
    assert time.monotonic() - start < 2
