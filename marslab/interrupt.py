"""Ctrl-C, at whatever moment it comes: the workers end, one line says how to go on, and the exit status is 130.

After kill -9, which nothing can answer, the workers end by themselves.

A signal handler rather than KeyboardInterrupt, which libraries swallow (numpy, while it is being imported) or answer with
minutes of tidying up (pools of processes). The store needs no tidying: a result is whole or not there.
"""

import contextlib
import os
import signal
import sys
import threading
import time

__all__ = ["deferred", "follow", "ignore", "install", "leave"]

MESSAGE = "\nInterrupted. Finished results are kept; the same command goes on from here.\n"
TIDYING = "ignore::UserWarning:joblib.externals.loky.backend.resource_tracker"  # its account of what it clears up afterwards


def install() -> None:
    """From now on, Ctrl-C ends this program as described above, unless it was started deaf to it (as a background job)."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return
    signal.signal(signal.SIGINT, leave)
    given = [one for one in os.environ.get("PYTHONWARNINGS", "").split(",") if one and one != TIDYING]
    os.environ["PYTHONWARNINGS"] = ",".join([*given, TIDYING])


def ignore() -> None:
    """From now on, Ctrl-C changes nothing: the work is done, and the interpreter is about to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def leave(*_) -> None:
    """End the workers and this process; a second Ctrl-C meanwhile changes nothing."""
    ignore()
    with contextlib.suppress(OSError):
        os.write(2, MESSAGE.encode())  # print could meet itself in the middle of a progress bar
    for pid in workers():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    os._exit(130)  # threads of the pool would be waited for otherwise


def workers() -> list[int]:
    """The processes of joblib's pool, if there is one."""
    pool = getattr(sys.modules.get("joblib.externals.loky.reusable_executor"), "_executor", None)
    return list(getattr(pool, "_processes", None) or {})


def follow(parent: int) -> None:
    """End this worker when its parent is gone: after kill -9 it would go on computing, then wait for work for minutes.

    Each worker begins with it, so it stands in this module, whose import takes no time.
    """

    def watch():
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def deferred():
    """Put Ctrl-C off while a pool starts: a process that is not in its list yet would be left behind.

    The processes inherit the blocked signal, so that Ctrl-C reaches their parent alone, which ends them.
    """
    if signal.getsignal(signal.SIGINT) is not leave:
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # its start would unblock the signal again
    came = []
    signal.signal(signal.SIGINT, lambda *_: came.append(True))  # the mask holds for this thread only
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, leave)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        if came:
            leave()
