"""Whether the log of a MySQL or MariaDB server is still the one that was read.

Names of servers do not tell: MariaDB makes ``server_uid`` of machine and port, so another server on
them has the same.  Files of a log are numbered from one again, and so are MariaDB's transactions.
When a file was begun, and by which server, tells one from another of its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from table_core.cdc.source.diverged import diverged
from table_core.cdc.source.mysql.log_connection import gtids_at, mark_of, replicated
from table_core.position.decide import Diverged
from table_core.position.gtids import gtids_contain
from table_core.position.log import LogPlace

if TYPE_CHECKING:
    from table_core.cdc.model.claims import Claim
    from table_core.cdc.source.mysql.source import MySqlConnection, MySqlSource
    from table_core.position.decide import LogNow

__all__ = ["LogIdentity", "refuse_another_server"]


@dataclass(slots=True)
class LogIdentity:
    """The log of a server during one run; each of its files is looked at once."""

    source: MySqlSource
    _marks: dict[str, str] = field(default_factory=dict)

    def mark(self, file: str) -> str:
        """What tells a file from another one of its name; '' if there is none."""
        if file not in self._marks:
            self._marks[file] = mark_of(self.source, file)
        return self._marks[file]

    def has_file_of(self, at: LogPlace) -> bool:
        """Whether a place is in a file that is there, as far as is known."""
        return not at.mark or not at.name or self.mark(at.name) == at.mark

    def refused(self, connection: MySqlConnection, at: LogPlace) -> Diverged | None:
        """Why nothing may be read behind a place; None if nothing speaks against it.

        With ``use_gtid`` another server may take over: it has to have taken the transactions that
        were read from elsewhere, for it would count its own from one too.
        """
        if at.mark and not at.name:  # goes on by transactions, on another server
            return self._not_followed(at, replicated(connection) if connection.is_mariadb else "")
        if not self.has_file_of(at):
            return self._another_file(at)
        is_told = bool(at.gtid and at.name) and not (at.skip or at.snapshots)
        if self.source.use_gtid or not is_told or not connection.is_mariadb:
            return None
        gtids = gtids_at(connection, at.name, at.order[1])
        return None if set(at.gtid.split(",")) <= set(gtids.split(",")) else self._reset(at, gtids)

    @property
    def _where(self) -> str:
        return f"{self.source.host}:{self.source.port}"

    def _another_file(self, at: LogPlace) -> Diverged:
        now = self.mark(at.name)
        is_now = f"the one there now was begun {_told(now)}" if now else "there is none now"
        return self._diverged(
            "made-anew",
            f"the log of {self._where} was read up to {at.name}, position {at.order[1]}, in a file that "
            f"was begun {_told(at.mark)}; {is_now}: the log was reset (RESET MASTER), the server was "
            "restored from a backup, or it is another server",
            at,
            now,
        )

    def _not_followed(self, at: LogPlace, taken: str) -> Diverged | None:
        if taken and gtids_contain(taken, at.gtid):
            return None
        return self._diverged(
            "made-anew",
            f"the log of {self._where} is not the one that was read up to transaction {at.gtid}, and the "
            f"server has not taken that transaction from another one (gtid_slave_pos is {taken or 'empty'}"
            "): it is another server, a replica that had not come as far, or its log was reset",
            at,
            taken,
        )

    def _reset(self, at: LogPlace, gtids: str) -> Diverged:
        return self._diverged(
            "went-back",
            f"the log of {self._where} was read up to {at.name}, position {at.order[1]}, with "
            f"transaction {at.gtid}; it has {gtids or 'none'} there: it was reset (RESET MASTER), lost its "
            "end in a crash, or this is another server",
            at,
            gtids,
        )

    def _diverged(self, reason: str, why: str, at: LogPlace, actual: str) -> Diverged:
        return Diverged(
            reason=reason, why=why, reader="sync", source=self._where, stored=at.text, actual=actual
        )


def _told(mark: str) -> str:
    seconds, _, server = mark.partition("@")
    if not seconds.isdigit():
        return repr(mark)
    return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%d %H:%M:%S} UTC by server {server}"


def refuse_another_server(claim: Claim, now: LogNow, address: str) -> None:
    """Refuse a server that took the place of the one that was read, e.g. its replica.

    Of MariaDB the ids of transactions do not tell: every server counts from one.
    """
    gtid = claim.at.gtid if isinstance(claim.at, LogPlace) else ""
    follows = ":" in gtid and gtids_contain(now.gtids, gtid)
    if follows or claim.address == address:
        raise diverged(
            Diverged(
                reason="made-anew",
                why=f"{claim.source} was read, and {address} is {now.source}"
                + (
                    ", which has its transactions: go on there with use_gtid=True"
                    if follows
                    else ""
                ),
                reader="sync",
                source=str(now.source),
                stored=claim.at.text,
                actual=now.gtids,
            )
        )
