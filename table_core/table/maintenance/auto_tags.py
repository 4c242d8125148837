"""Makes the tags that a table makes by itself, and lets go of those that are too many (format 11.6)."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from table_core.datatypes.time_zone import zone_of
from table_core.errors import AlreadyExistsError, OptionError
from table_core.expire.auto_tags import AutoTags, TagPeriod, batch_tag_name, is_batch_tag
from table_core.options import keys_retention
from table_core.table.maintenance.tag_deletion import delete_tags
from table_core.table.metadata.refs.tags import tag_names, tagged, write_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["make_batch_tag", "make_due_tags", "refuse_second"]

_ATTEMPTS: Final = 5


def make_due_tags(access: TableAccess) -> list[str]:
    """Make the tags of periods that are over (``tag.automatic-creation``); their names."""
    auto = AutoTags.of(access.options)
    head = None if auto is None else access.metadata.head()
    if auto is None or head is None:
        return []
    names = tag_names(access)
    newest = auto.newest(names)

    local_ms = _wall_clock(access, by_watermark=auto.by_watermark)
    # Times only grow, so where the newest snapshot makes no tag, no older one does.
    if not auto.is_due(head, newest, local_ms):
        return []
    start = None if newest is None else tagged(access, newest).snapshot.id + 1
    made = []
    taken = set(automatic_tags(access, auto.period).values())
    free = (one for one in _snapshots(access, start, head.id) if one.id not in taken)
    for name, snapshot in auto.due(free, newest, local_ms):
        if name not in names:
            with suppress(AlreadyExistsError):  # another commit has made it meanwhile
                write_tag(access, name, snapshot)
                made.append(name)
    surplus = auto.surplus({n: tagged(access, n).snapshot.id for n in tag_names(access)})
    if surplus:
        delete_tags(access, surplus, action="expire-tags", dry_run=False)
    return made


def automatic_tags(access: TableAccess, period: TagPeriod) -> dict[str, int]:
    """The tags that are called as the table calls its own, and their snapshots."""
    names = [name for name in tag_names(access) if period.begin(name) is not None]
    return {name: tagged(access, name).snapshot.id for name in names}


def refuse_second(access: TableAccess, name: str, snapshot: int, but: str | None = None) -> None:
    """Refuse a second tag with the name of an automatic one on a snapshot: Paimon could not commit any more.

    ``but`` is a tag that goes.

    Raises:
        AlreadyExistsError: the snapshot has one.
    """
    period = TagPeriod.named_by(access.options)
    if period is None or period.begin(name) is None:
        return
    others = automatic_tags(access, period).items()
    same_state = [other for other, at in others if at == snapshot and other not in {name, but}]
    if same_state:
        raise AlreadyExistsError(
            f"{access.name}: snapshot {snapshot} has the automatic tag {same_state[0]!r} already, and {name!r} would be "
            "a second one: choose a name that the table does not give by itself",
            name=name,
        )


def make_batch_tag(access: TableAccess) -> None:
    """Tag what a batch write made (``tag.automatic-creation`` is ``batch``).

    A tag of that name moves on.  Only tags of such names count for ``tag.num-retained-max``.

    Source: ``org.apache.paimon.tag.TagBatchCreation``.
    """
    if access.options.get(keys_retention.TAG_AUTOMATIC_CREATION) != "batch":
        return
    head = access.metadata.head()
    if head is None:
        return
    own = access.options.get(keys_retention.TAG_BATCH_CUSTOMIZED_NAME)
    offset_ms = access.clock.local_offset_ms(head.time_millis)
    name = own or batch_tag_name(head.time_millis + offset_ms)
    if not _moved(access, name, head):
        return
    most = access.options.get(keys_retention.TAG_NUM_RETAINED_MAX)
    made = [n for n in tag_names(access) if n == own or is_batch_tag(n)]
    made.sort(key=lambda name: (tagged(access, name).snapshot.id, name))
    if most is not None and len(made) > most:
        delete_tags(access, made[: len(made) - most], action="expire-tags", dry_run=False)


def _moved(access: TableAccess, name: str, head: Snapshot) -> bool:
    """Let the tag ``name`` stand for ``head``; False: it does, or for a later one that another commit has tagged.

    Raises:
        AlreadyExistsError: other commits moved it every time.
    """
    for _ in range(_ATTEMPTS - 1):
        if name in tag_names(access):
            if tagged(access, name).snapshot.id >= head.id:
                return False
            delete_tags(access, [name], action="expire-tags", dry_run=False)
        with suppress(AlreadyExistsError):
            write_tag(access, name, head)
            return True
    write_tag(access, name, head)
    return True


def _snapshots(access: TableAccess, start: int | None, end: int) -> Iterator[Snapshot]:
    """Snapshots from ``start`` (None: the earliest) to ``end`` that are there."""
    earliest = access.metadata.earliest_id() or end
    for id in range(max(start or earliest, earliest), end + 1):
        yield access.metadata.snapshot(id)


def _wall_clock(access: TableAccess, *, by_watermark: bool) -> Callable[[int], int]:
    """Epoch to wall clock, in milliseconds, in the zone whose days the tags are named after."""
    text = access.options.get(keys_retention.SINK_PROCESS_TIME_ZONE)
    option = keys_retention.SINK_PROCESS_TIME_ZONE.key
    if by_watermark:
        text = access.options.get(keys_retention.SINK_WATERMARK_TIME_ZONE)
        option = keys_retention.SINK_WATERMARK_TIME_ZONE.key
    if text is None:
        return lambda at_ms: at_ms + access.clock.local_offset_ms(at_ms)
    zone = _zone(option, text)

    def local_ms(at_ms: int) -> int:
        offset = datetime.fromtimestamp(at_ms // 1000, zone).utcoffset()
        return at_ms + (offset or timedelta()) // timedelta(milliseconds=1)

    return local_ms


def _zone(option: str, text: str) -> tzinfo:
    """What Java's ``ZoneId.of`` says to ``text``.

    Raises:
        OptionError: there is no such zone.
    """
    try:
        return zone_of(text)
    except ValueError as error:
        raise OptionError(
            f"{option}={text!r}: {error}",
            option=option,
        ) from error
