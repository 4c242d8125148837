"""Feed decoders what nobody meant for them: ``python tests/fuzz/run.py --seconds 60 [TARGET …]``.

Each target has a process of its own, with bounded memory; an input may take ten seconds.  Only a
``TableError`` may come out.  What breaks that is left in ``--out``, to be copied into ``corpus/TARGET``, which is
always run first.  Inputs come of ``mutations.py``; with the package ``atheris`` (the extra ``fuzz``) also of
what leads to lines of ours that no input reached before: ``--engine``.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import hashlib
import importlib.util
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[1] / "provider"), str(HERE)]

HANG_S = 10
ROOM = 512 << 20
CORPUS = HERE / "corpus"
MOST_FAULTS = 50
"""Of one target in one run; each place in the code is told once."""
TOLD: set[str] = set()
MEMORY = ("malloc", "out of memory", "realloc", "bad_alloc", "Cannot allocate", "MemoryError")


class Hang(BaseException):
    """An input takes too long."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--at-once", type=int, default=2, help="targets beside one another")
    parser.add_argument("--engine", choices=("auto", "atheris", "mutations"), default="auto")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "paimon-fuzz")
    parser.add_argument("targets", nargs="*")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    guided = given.engine == "atheris" or (
        given.engine == "auto" and importlib.util.find_spec("atheris") is not None
    )
    with instrumented() if guided else contextlib.nullcontext():
        from targets import targets

    chosen = given.targets or sorted(targets())
    share = given.seconds / len(chosen) * given.at_once
    failed, waiting, running = [], list(chosen), {}
    while waiting or running:
        while waiting and len(running) < given.at_once:
            name = waiting.pop(0)
            sys.stdout.flush()
            if (process := os.fork()) == 0:  # what is imported already is there at once
                os._exit(child(name, share, given.seed, given.out, guided=guided))
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


def child(name: str, seconds: float, seed: int, out: Path, *, guided: bool) -> int:
    """One target, until its time is over or something is found."""
    from targets import targets

    faulthandler.enable()
    target = targets()[name]
    seeds = target.whole()
    for body in seeds:
        attempt(target.run, body, name, out, timed=not guided)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    kept = [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]
    begin = (*seeds, *kept)
    if guided:
        return by_coverage(target, name, begin, seconds, seed, out)
    bound_memory()
    if not all(attempt(target.run, body, name, out) for body in kept):
        return 1
    count = by_chance(target, name, begin, seconds, seed, out)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - used
    if count is None:
        return 1
    sys.stdout.write(f"{name}: {count} inputs, {len(kept)} of the corpus, {grown >> 20} MB more\n")
    sys.stdout.flush()
    (out / f"{name}.now").unlink(missing_ok=True)
    return 0


def by_chance(
    target: Any, name: str, begin: Sequence[bytes], seconds: float, seed: int, out: Path
) -> int | None:
    """How many inputs there were; None if some were faults."""
    from mutations import mutated

    rand, count, faults = random.Random(f"{seed} {name}"), 0, 0
    until = time.monotonic() + seconds
    while time.monotonic() < until and faults < MOST_FAULTS:
        faults += not attempt(target.run, mutated(begin, target.is_json, rand), name, out)
        count += 1
    return None if faults else count


# ---------------------------------------------------------------------------------------- by coverage
@contextlib.contextmanager
def instrumented() -> Iterator[None]:
    """What is imported here tells which of its lines were reached."""
    import atheris

    with atheris.instrument_imports(include=["table_core", "paimon_provider"]):
        yield


def by_coverage(
    target: Any, name: str, begin: Sequence[bytes], seconds: float, seed: int, out: Path
) -> int:
    """The same by libFuzzer, which ends the process itself."""
    import atheris
    from mutations import mutated

    folder = Path(tempfile.mkdtemp(prefix="paimon-fuzz-"))
    for number, body in enumerate(begin):
        (folder / str(number)).write_bytes(body)
    rand = random.Random(f"{seed} {name}")

    def one(body: bytes) -> None:
        if not attempt(target.run, body, name, out, timed=False):
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(1)

    def other(body: bytes, most: int, _: int) -> bytes:
        if rand.random() < 0.5:
            return bytes(atheris.Mutate(body, most))
        return mutated((body, *begin), False, rand)[:most]

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    words = ["fuzz", f"-max_total_time={max(1, int(seconds))}", f"-timeout={HANG_S}",
             f"-rss_limit_mb={used + (ROOM >> 20)}", f"-malloc_limit_mb={ROOM >> 20}", "-max_len=1000000",
             f"-artifact_prefix={out}/{name}-", f"-seed={seed & 0x7FFFFFFF or 1}", "-print_final_stats=1"]  # fmt: skip
    atheris.Setup([*words, str(folder)], one, custom_mutator=other)
    atheris.Fuzz()
    return 0


# ------------------------------------------------------------------------------------------ one input
def bound_memory() -> None:
    """What is used now, and ``ROOM`` more."""
    status = Path("/proc/self/status").read_text()
    now = (
        next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmSize"))
        * 1024
    )
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, now + ROOM))


def attempt(
    run: Callable[[bytes], object], body: bytes, name: str, out: Path, *, timed: bool = True
) -> bool:
    """Whether ``run`` took ``body`` as it should; otherwise it is kept and told."""
    from table_core.errors import TableError

    now = out / f"{name}.now"  # what there is to look at if the process itself dies
    now.write_bytes(body)
    if timed:
        for kind in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(kind, hang)
        signal.setitimer(signal.ITIMER_PROF, HANG_S)  # of work: others may have the processor
        signal.setitimer(signal.ITIMER_REAL, 12 * HANG_S)
        # within C nothing is heard: after three times the time the system ends the process
        signal.setitimer(signal.ITIMER_VIRTUAL, 3 * HANG_S)
    try:
        run(body)
    except TableError as error:
        if wants_memory(error):
            return found(name, body, out, error)
    except (Exception, Hang) as error:
        return found(name, body, out, error)
    finally:
        if timed:
            for timer in (signal.ITIMER_REAL, signal.ITIMER_PROF, signal.ITIMER_VIRTUAL):
                signal.setitimer(timer, 0)
    return True


def wants_memory(error: BaseException) -> bool:
    """Whether an error of ours hides that there was no memory: then more than ``ROOM`` was asked for."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        if cause in causes:
            break
        causes.append(cause)
    return any(isinstance(one, MemoryError) or _tells(one) for one in causes[1:])


def _tells(error: BaseException) -> bool:
    return any(word in str(error)[:500] for word in MEMORY)


def found(name: str, body: bytes, out: Path, error: BaseException) -> bool:
    last = "".join(traceback.format_exception(error)[-4:])[-2000:]
    if last in TOLD:
        return False
    TOLD.add(last)
    path = out / f"{name}-{hashlib.sha256(body).hexdigest()[:12]}"
    path.write_bytes(body)
    sys.stdout.write(f"{name}: {type(error).__name__} for {path}:\n{last}\n")
    sys.stdout.flush()
    return False


def hang(*_: object) -> None:
    raise Hang


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
