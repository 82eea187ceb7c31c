"""Tuning records that an enemy made: as good as none, whatever they say."""

import json

import pytest

from tilec.autotuner.records import MAX_SAMPLES, MAX_VERSIONS, Record, Store
from tilec.untrusted import MAX_BYTES, read_json, shown

GOOD = {
    "config": {"block": 16},
    "status": "ok",
    "reason": "",
    "checked": True,
    "samples": [1.0, 2.0],
    "kernels": [],
    "device": {},
    "patience": None,
}


def test_a_good_one_is_read():
    assert Record.from_json(GOOD, None, "k").latency == 1.5


@pytest.mark.parametrize(
    "change",
    [
        {"samples": [10**400]},
        {"samples": [float("nan")]},
        {"samples": [float("inf")]},
        {"samples": [True]},
        {"samples": [-1.0]},
        {"samples": [1.0] * 200_000},
        {"kernels": [1]},
        {"kernels": ["x" * 5000]},
        {"status": "nonsense"},
        {"config": 3},
        {"reason": 3},
    ],
)
def test_what_makes_no_sense_is_none(change):
    assert Record.from_json({**GOOD, **change}, None, "k") is None


def test_a_reason_is_shown_harmlessly():
    record = Record.from_json(
        {**GOOD, "status": "wrong", "samples": [], "reason": "\x1b[2J\u009b\nerror: forged"}, None, "k"
    )
    assert record.reason == "?[2J?\n    error: forged"


@pytest.mark.parametrize("text", [b"[" * 1_000_000, b"nonsense", b"NaN", b"[" + b"1," * 500_000 + b"1]", b"\xff"])
def test_json_has_limits(text):
    with pytest.raises(ValueError, match=r".+"):
        read_json(text)


def test_text_is_shown_harmlessly():
    assert shown("größe\x1b\u202e") == "größe??"


def test_there_is_an_end_to_versions(monkeypatch):
    """A server may always have a next one."""
    from tilec import cache

    asked = []

    class Entry:
        def file(self, name):
            return b"{}"

    monkeypatch.setattr(cache, "lookup", lambda components, read=None: asked.append(components) or Entry())
    assert len(Store().versions("k")) == MAX_VERSIONS == len(asked)


def test_slow_versions_are_not_all_looked_for(monkeypatch):
    """Each may be as long as a record may be, and take long to read."""
    import time

    from tilec import cache
    from tilec.autotuner import records

    class Entry:
        def file(self, name):
            time.sleep(0.05)
            return b"{}"

    monkeypatch.setattr(records, "MAX_SECONDS", 0.2)
    monkeypatch.setattr(cache, "lookup", lambda components, read=None: Entry())
    assert 1 <= len(Store().versions("k")) < 10


def test_versions_take_no_more_memory_than_one_record(monkeypatch):
    """All are held at once, and what JSON says takes many times the bytes of its text."""
    from tilec import cache

    class Entry:
        def file(self, name):
            return b'["' + b"x" * (1 << 20) + b'"]'

    monkeypatch.setattr(cache, "lookup", lambda components, read=None: Entry())
    assert 1 <= len(Store().versions("k")) <= MAX_BYTES >> 20


def test_a_configuration_of_very_many_values_is_read_once():
    """And not once for each of the function's own: two hundred of those took minutes."""
    import time
    from types import SimpleNamespace

    from tilec.autotuner import choice

    problem = SimpleNamespace(
        key="k",
        candidates=[{"block": n} for n in range(200)],
        is_certain=True,
        shipped=[],
        profile=SimpleNamespace(is_frozen=False),
    )
    body = {"config": {f"k{n}": n for n in range(100_000)}}
    start = time.process_time()
    assert choice.known(problem, SimpleNamespace(versions=lambda key: [body])) is None
    assert time.process_time() - start < 5


def test_of_results_for_other_devices_the_nearest_is_kept():
    """Each may be as long as a record may be."""
    import weakref
    from types import SimpleNamespace

    from tilec.autotuner import choice

    class Body(dict):
        pass

    alive = weakref.WeakSet()
    most = 0

    def bodies():
        nonlocal most
        for n in range(50):
            body = Body(components=Body(function="f", device=n), config={"block": n})
            alive.add(body["components"])
            most = max(most, len(alive))
            yield body

    Body.__hash__ = object.__hash__
    problem = SimpleNamespace(
        key="k",
        name="f",
        components={"arguments": {}, "device": 7},
        device_identity={"name": "a GPU"},
        shipped=[],
    )
    text = choice.missing(problem, SimpleNamespace(bodies=bodies))
    assert 'the nearest result chose {"block": 7}' in text
    assert most <= 4


def test_many_choices_are_not_all_looked_for(directory, monkeypatch):
    """A group's directory may be full of them."""
    import time

    from tilec import _tl
    from tilec.autotuner import records

    def load(self, key):
        time.sleep(0.05)
        return {}

    listed = [json.dumps({"kind": "tuning", "tuning": str(i)}) for i in range(100)]
    monkeypatch.setattr(_tl, "cache_tunings", lambda directory: listed)
    monkeypatch.setattr(records, "MAX_SECONDS", 0.2)
    monkeypatch.setattr(Store, "load", load)
    assert 1 <= len(list(Store().bodies())) < 10


SLOW = """
import http.server, os, threading, time
from tilec.autotuner import records
from tilec.autotuner.records import Store
records.MAX_SECONDS = 60

class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.7)
        self.send_error(404)
    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["TL_CACHE_REMOTE"] = f"http://127.0.0.1:{server.server_address[1]}"
from tilec import cache
real = cache.lookup
def lookup(components, read=None):
    real(components, read)
    return Entry()
class Entry:
    def file(self, name):
        return b"{}"
cache.lookup = lookup
start = time.monotonic()
assert len(Store().versions("k")) == 64
assert time.monotonic() - start < 9
"""


def test_all_versions_are_one_lookup(directory, tmp_path):
    """A server that answers each request in less than a lookup's time has one lookup's time for all."""
    import subprocess
    import sys

    subprocess.run([sys.executable, "-c", SLOW], check=True, timeout=60)


def test_a_lock_follows_no_link(directory, tmp_path):
    """A link that somebody put there must not empty what it leads to."""
    store = Store()
    with store.lock("race", "races"):
        pass
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (races,) = directory.glob("**/races")
    for file in races.iterdir():
        file.unlink()
    for place in (races, directory / "races"):
        place.mkdir(exist_ok=True)
        (place / "race.lock").symlink_to(victim)
        (place / "race.journal").symlink_to(victim)
    with store.lock("race", "races"):
        pass
    journal = store.journal("race")
    journal.add("a", [1.0])
    assert journal.samples("a") == []
    assert victim.read_text() == "precious"


def test_a_journal_is_read_within_bounds(directory):
    store = Store()
    journal = store.journal("race")
    journal.add("a", [1.0, 2.0])
    journal.add("b", [3.0])
    (file,) = directory.glob("**/race.journal")
    with open(file, "a") as lines:
        lines.write("[" * 100_000 + "\n")
        lines.write(json.dumps(["c", [10**400]]) + "\n")
        lines.write(json.dumps(["d", ["x"]]) + "\n")
        lines.write('["a", [4')
    again = store.journal("race")
    assert again.samples("a") == [1.0, 2.0]
    assert again.samples("b") == [3.0]
    assert again.samples("c") == again.samples("d") == []
    journal.remove()
    assert store.journal("race").samples("a") == []


def test_a_journal_has_no_more_samples_of_a_configuration_than_a_record(directory):
    """A race sorts them after each turn."""
    store = Store()
    store.journal("race").add("a", [1.0])
    (file,) = directory.glob("**/race.journal")
    with open(file, "a") as lines:
        lines.write(3 * (json.dumps(["a", [2] * 90_000]) + "\n"))
    assert len(store.journal("race").samples("a")) <= MAX_SAMPLES


def test_a_journal_of_very_many_lines_is_not_read_for_long(directory):
    """Ten million lines, none of which says anything, took half a minute."""
    import time

    store = Store()
    store.journal("race").add("a", [1.0])
    (file,) = directory.glob("**/race.journal")
    with open(file, "ab") as lines:
        lines.write(b"[]\n" * 5_500_000)
    start = time.monotonic()
    assert store.journal("race").samples("a") == [1.0]
    assert time.monotonic() - start < 8


def test_a_lock_that_somebody_keeps_is_left(directory, monkeypatch, caplog):
    """A member of a group may hold it for ever. It is said once, and the work is done without."""
    from tilec import _tl
    from tilec.autotuner import records

    monkeypatch.setattr(_tl, "cache_lock_race", lambda directory, name, timeout: None)
    monkeypatch.setattr(records, "_has_warned", False)
    done = []
    for name in ("a", "b"):
        with Store().lock(name, "tunes the same kernel"):
            done.append(name)
    assert done == ["a", "b"]
    assert caplog.text.count("has held a lock of the tuner's") == 1


def test_a_directory_that_others_may_write_is_not_used(directory):
    store = Store()
    with store.lock("race", "races"):
        pass
    directory.chmod(0o777)
    store.journal("race").add("a", [1.0])
    directory.chmod(0o700)
    assert store.journal("race").samples("a") == []
