"""`make lab` serves this computer only, and nobody without the token."""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

from marslab import paths

TOKEN = "a-token-of-this-test"
WAIT = 90  # seconds until a server that does not come up counts as a failure


def free_port():
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def status(url, **headers):
    """The HTTP status of a request."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as refusal:
        return refusal.code


@pytest.fixture
def server(tmp_path):
    """The command of the Makefile's `lab`, with a port and a token of its own and without a browser."""
    command = re.search(r"-m jupyterlab ([^\n]*)", (paths.ROOT / "Makefile").read_text()).group(1)
    assert "--ip=127.0.0.1" in command.split()
    port = free_port()
    folders = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    extra = f"--no-browser --port={port} --IdentityProvider.token={TOKEN} --allow-root"
    process = subprocess.Popen(
        ["make", "lab", f"ARGS={extra}"],
        cwd=paths.ROOT,
        env={**os.environ, **folders},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    yield port, process
    for _ in range(2):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            time.sleep(1)
    os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
    process.wait()


def wait_for(port, process):
    """Until the server answers."""
    begun = time.monotonic()
    while time.monotonic() - begun < WAIT:
        assert process.poll() is None, "the server ended by itself"
        try:
            return status(f"http://127.0.0.1:{port}/api")
        except OSError:
            time.sleep(0.3)
    raise AssertionError("the server did not come up")


def listening(port):
    """The local addresses that listen on this port, from the kernel's tables."""
    found = []
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}") as lines:
            rows = [line.split() for line in lines][1:]
        found += [row[1].split(":")[0] for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == port]
    return found


@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="listening sockets are read from Linux's /proc")
@pytest.mark.skipif(not (paths.ROOT / ".venv/complete").exists(), reason="make has not set this checkout up")
def test_the_server_listens_on_this_computer_and_asks_for_the_token(server):
    port, process = server
    wait_for(port, process)
    assert listening(port) == ["0100007F"]  # 127.0.0.1 and nothing else
    url = f"http://127.0.0.1:{port}/api/contents"
    assert status(url) == 403
    assert status(url, Authorization="token wrong") == 403
    assert status(url, Authorization=f"token {TOKEN}") == 200
    assert status(url, Authorization=f"token {TOKEN}", Host="evil.example") == 403
    assert status(url, Origin="http://evil.example") in (403, 404)  # Jupyter hides the page from foreign pages
    request = urllib.request.Request(url, headers={"Authorization": f"token {TOKEN}", "Origin": "http://evil.example"})
    with urllib.request.urlopen(request, timeout=10) as answer:  # who has the token is let in; nobody else is invited
        assert answer.headers.get("Access-Control-Allow-Origin") != "*"
