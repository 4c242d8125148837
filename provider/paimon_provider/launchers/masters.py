"""The masters of a standalone cluster, asked by REST: of several, one leads, and only its word counts.

Source: Spark's ``StandaloneRestServer`` and ``Master``.  A master that is on stand-by, or that is recovering, answers every
question with ``success: false`` and a message that it is not alive.  The leader answers an unknown driver with ``success: false``
and no message.  So a driver is gone only if a master says so without a message.
"""

from __future__ import annotations

import json
import logging
import random
import re
import time
import urllib.request
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeVar

from table_core.errors import ArgumentError, StorageUnavailableError
from table_core.http_answer import Answer, NoRedirects, http_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Masters", "asked_again"]

T = TypeVar("T")
_CALL_SECONDS: Final = 20
_ANSWER_MAX: Final = 1 << 20
"""Bytes; an answer of a master has a few hundred."""
_NOT_ALIVE: Final = re.compile(r"not alive|not in ALIVE state|in ALIVE state")
"""What a master says that does not lead."""
_AWAY: Final = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
)
"""Besides 5xx: a gateway or a master that cannot answer now."""
_PAUSE_SECONDS: Final = (1.0, 10.0)
_log = logging.getLogger(__name__)


class Masters:
    """Those that ``spark://host:port,host:port`` names, with one port for their REST servers."""

    def __init__(self, master: str, rest_port: int) -> None:
        self.master = master
        self.rest_port = rest_port

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the leader answers; each master is asked once.

        Raises:
            ArgumentError: a master refuses the request itself, or ``master`` is no ``spark://host:port``.
            StorageUnavailableError: none leads at the moment, or none answers: ask again.
        """
        faults = []
        for base in self._addresses():
            try:
                answer = _answer(base, path, body)
                reply = {} if answer.status != HTTPStatus.OK else _reply(answer.body)
            except (OSError, ValueError, RecursionError) as error:
                faults.append(f"{base}: {error}")
                continue
            if answer.status != HTTPStatus.OK:
                said = f"{answer.status} {answer.body[:500].decode(errors='replace')}".strip()
                if answer.status < HTTPStatus.INTERNAL_SERVER_ERROR and answer.status not in _AWAY:
                    raise ArgumentError(
                        f"{base} refuses {path}: {said}", argument="spark_master", value=self.master
                    )
                faults.append(f"{base}: {said}")
            else:
                message = str(reply.get("message") or "")
                if reply.get("success") or not _NOT_ALIVE.search(message):
                    return reply
                said = next(line for line in message.splitlines() if _NOT_ALIVE.search(line))
                faults.append(f"{base}: {said}")
        raise StorageUnavailableError(
            f"no Spark master answers as the leader: {'; '.join(faults)}",
            path=self.master,
            reason="; ".join(faults),
        )

    def _addresses(self) -> list[str]:
        if not self.master.startswith("spark://"):
            raise ArgumentError(
                f"backend 'standalone' needs spark_master=spark://host:port, not {self.master!r}",
                argument="spark_master",
                value=self.master,
            )
        hosts = self.master.removeprefix("spark://").split(",")
        return [f"http://{host.rpartition(':')[0] or host}:{self.rest_port}" for host in hosts]


def asked_again(question: Callable[[], T], seconds: float, about: str) -> T:
    """The answer to ``question``, which is asked again for so many ``seconds`` while it is unavailable.

    Each time that there is none stands in the log, with its reason.

    Raises:
        StorageUnavailableError: there was none in time.
    """
    until, pause = time.monotonic() + seconds, _PAUSE_SECONDS[0]
    while True:
        try:
            return question()
        except StorageUnavailableError as error:
            if time.monotonic() + pause > until:
                raise
            _log.warning("%s: asking again in %.0f s: %s", about, pause, error)
        time.sleep(pause * random.uniform(0.8, 1.2))
        pause = min(2 * pause, _PAUSE_SECONDS[1])


def _answer(base: str, path: str, body: Mapping[str, Any] | None) -> Answer:
    """What the master at ``base`` says; a redirect is not followed, as none of theirs is one.

    Raises:
        OSError: it cannot be reached, or says too much.
    """
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json;charset=UTF-8"}
    request = urllib.request.Request(f"{base}/v1/submissions/{path}", data, headers)
    handlers = [urllib.request.ProxyHandler({}), NoRedirects()]
    return http_answer(request, handlers, seconds=_CALL_SECONDS, most=_ANSWER_MAX)


def _reply(text: bytes) -> dict[str, Any]:
    """What an answer says.

    Raises:
        ValueError: no master says that.
    """
    reply = json.loads(text)
    if not isinstance(reply, dict):
        raise ValueError(f"{type(reply).__name__} is no answer of a Spark master")  # noqa: TRY004
    return reply
