"""How far the runs of a task have read, kept in the state of an asset.

A run moves it before it is over, and may fail behind that, or be lost: then what it has read was told to
nobody.  So both ends are kept, with the run that read between them.  That run's next attempt begins where it
began, and so does another run, unless the one before it has succeeded.  Of a mapped task that is the index that
read: another one may succeed where it fails.
"""

from __future__ import annotations

from typing import Any, Final

from table_core.errors import ArgumentError

__all__ = ["RunPosition"]

_VERSION: Final = 2


class RunPosition:
    """A position of one reader: ``start`` says where a run begins, ``keep`` how far it has come.

    :param state: the asset's state store.
    :param key: names the reader.
    :param ti: the task instance that runs.
    """

    def __init__(self, state: Any, key: str, ti: Any) -> None:
        self._state = state
        self._key = key
        self._ti = ti
        self._stored = state.get(key)

    @property
    def start(self) -> Any:
        """Where this run begins, as it was kept; None: never."""
        if self._stored is None:
            return None
        try:
            run_id, index = self._stored["run"], self._stored.get("index")
            return self._stored["from" if self._again(run_id, index) else "to"]
        except (AttributeError, KeyError, TypeError) as error:
            raise ArgumentError(
                f"the state {self._key!r} of the asset is no position of a reader: {self._stored!r:.80}; "
                "clear it, or give the reader another name",
                argument="reader",
                value=self._key,
            ) from error

    def begin(self, start: Any) -> None:
        """Keep where the very first run begins, before it reads: should it fail, the next begins there."""
        self._keep({"version": _VERSION, "from": start, "to": start, "run": ""})

    def keep(self, start: Any, to: Any) -> None:
        """This run has read from ``start`` up to ``to``."""
        index = getattr(self._ti, "map_index", None)
        kept = {"version": _VERSION, "from": start, "to": to, "run": self._ti.run_id}
        self._keep({**kept, "index": -1 if index is None else index})

    def _keep(self, document: dict[str, Any]) -> None:
        self._stored = document
        self._state.set(self._key, document)

    def _again(self, run_id: Any, index: Any) -> bool:
        """Whether what ``run_id`` has read has to be read again.

        ``index``: of the mapped task that read it, -1 of one that is not mapped.
        """
        if run_id == self._ti.run_id:
            return True
        ask = getattr(self._ti, "get_task_states", None)
        if not run_id or ask is None:
            return False
        ti = self._ti
        by_run = ask(dag_id=ti.dag_id, map_index=index, task_ids=[ti.task_id], run_ids=[run_id])
        states = (by_run or {}).get(run_id) or {}
        return {str(state) for state in states.values()} != {"success"}
