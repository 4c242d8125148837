"""Feed decoders what nobody meant for them: ``python tests/fuzz/run.py --seconds 60 [TARGET …]``.

Each target has a process of its own, with bounded memory; an input may take ten seconds.  Only a
``TableError`` may come out.  What breaks that is left in ``--out``, to be copied into ``corpus/TARGET``, which is
always run first.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[1] / "provider"), str(HERE)]

HANG_S = 10
AT_ONCE = 2
ROOM = 512 << 20
CORPUS = HERE / "corpus"


class Hang(BaseException):
    """An input takes too long."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "paimon-fuzz")
    parser.add_argument("targets", nargs="*")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    from targets import targets

    chosen = given.targets or sorted(targets())
    share, failed = given.seconds / len(chosen), []
    waiting, running = list(chosen), {}
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            name = waiting.pop(0)
            sys.stdout.flush()
            if (process := os.fork()) == 0:  # what is imported already is there at once
                os._exit(child(name, share * AT_ONCE, given.seed, given.out))
            running[process] = name
        process, status = os.wait()
        name = running.pop(process)
        if status:
            failed.append(name)
            sys.stdout.write(f"{name}: ended with {os.waitstatus_to_exitcode(status)}\n")
    sys.stdout.write(
        f"seed {given.seed}: {len(chosen)} targets, failed: {failed or 'none'}; inputs in {given.out}\n"
    )
    return int(bool(failed))


def child(name: str, seconds: float, seed: int, out: Path) -> int:
    """One target, until its time is over or something is found."""
    from mutations import mutated
    from targets import targets

    faulthandler.enable()
    target = targets()[name]
    seeds = target.whole()
    for body in seeds:
        attempt(target.run, body, name, out)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    bound_memory()
    rand, count = random.Random(f"{seed} {name}"), 0
    kept = [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]
    for body in kept:
        if not attempt(target.run, body, name, out):
            return 1
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not attempt(target.run, mutated((*seeds, *kept), target.is_json, rand), name, out):
            return 1
        count += 1
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - used
    sys.stdout.write(f"{name}: {count} inputs, {len(kept)} of the corpus, {grown >> 20} MB more\n")
    sys.stdout.flush()
    (out / f"{name}.now").unlink(missing_ok=True)
    return 0


def bound_memory() -> None:
    """What is used now, and ``ROOM`` more."""
    status = Path("/proc/self/status").read_text()
    now = (
        next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmSize"))
        * 1024
    )
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, now + ROOM))


def attempt(run: Any, body: bytes, name: str, out: Path) -> bool:
    """Whether ``run`` took ``body`` as it should; otherwise it is kept and told."""
    from table_core.errors import TableError

    now = out / f"{name}.now"  # what there is to look at if the process itself dies
    now.write_bytes(body)
    signal.signal(signal.SIGALRM, hang)
    signal.setitimer(signal.ITIMER_REAL, HANG_S)
    faulthandler.dump_traceback_later(3 * HANG_S, exit=True)
    try:
        run(body)
    except TableError:
        return True
    except (Exception, Hang) as error:
        return found(name, body, out, error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
    return True


def found(name: str, body: bytes, out: Path, error: BaseException) -> bool:
    path = out / f"{name}-{hashlib.sha256(body).hexdigest()[:12]}"
    path.write_bytes(body)
    last = "".join(traceback.format_exception(error)[-4:])[-2000:]
    sys.stdout.write(f"{name}: {type(error).__name__} for {path}:\n{last}\n")
    sys.stdout.flush()
    return False


def hang(*_: object) -> None:
    raise Hang


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
