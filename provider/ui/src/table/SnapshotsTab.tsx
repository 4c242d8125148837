import { useState } from "react";

import { ask, RequestFailed } from "../api/client";
import type { Snapshot, Snapshots, TableDocument } from "../api/types";
import { useData } from "../api/useData";
import { SnapshotBars } from "../charts/SnapshotBars";
import { Grid, type Column } from "../parts/Grid";
import { Card, Chip, RunLink, When } from "../parts/bits";
import { Empty, Failure, Loaded } from "../parts/states";
import { useView } from "../state/query";
import { bytes, change, count, plural, writerName } from "../text/format";
import { ComparePanel } from "./ComparePanel";
import { SnapshotPanel } from "./SnapshotPanel";

const PAGE = 100;
const BARS_MAX = 200;

/** The commits of the table, newest first; one of them in detail, or two beside each other. */
export function SnapshotsTab({ table }: { table: TableDocument }) {
  const { uri } = table;
  const cut = table.cut?.snapshots;
  const [view, go] = useView();
  const newest = useData<Snapshots>("table/snapshots", { uri, limit: PAGE }, 30);
  const [older, setOlder] = useState<Snapshot[]>([]);
  const [asking, setAsking] = useState(false);
  const [failed, setFailed] = useState<RequestFailed | null>(null);

  const more = (before: number) => {
    setAsking(true);
    ask<Snapshots>("table/snapshots", { uri, before, limit: PAGE })
      .then((page) => {
        setOlder((was) => [...was, ...page.snapshots]);
        setFailed(null);
      })
      .catch((cause: unknown) => {
        setFailed(cause instanceof RequestFailed ? cause : new RequestFailed(0, "unknown", String(cause)));
      })
      .finally(() => setAsking(false));
  };
  const chosen =
    view.from !== null && view.to !== null ? (
      <ComparePanel uri={uri} from={view.from} to={view.to} close={() => go({ from: null, to: null })} />
    ) : view.snapshot !== null ? (
      <SnapshotPanel uri={uri} id={view.snapshot} close={() => go({ snapshot: null })} />
    ) : null;
  return (
    <Loaded of={newest} lines={8}>
      {(data) => {
        const all = merged(data.snapshots, older);
        const last = all.at(-1);
        if (all.length === 0) {
          return <Empty title="No snapshots are known">The collector reads them, or the table has none yet.</Empty>;
        }
        return (
          <>
            <Card title="Rows added and deleted" note={`${count(Math.min(all.length, BARS_MAX))} of ${plural(data.total, "snapshot")}`} wide>
              <SnapshotBars
                snapshots={all.slice(0, BARS_MAX)}
                chosen={view.snapshot}
                choose={(id) => go({ snapshot: id, from: null, to: null })}
              />
            </Card>
            {chosen}
            {cut === undefined ? null : (
              <div className="pt-note" role="note">
                Snapshots #{cut.from} to #{cut.to} are left out: there were more than the collector reads in one run.
              </div>
            )}
            <Card title="Snapshots" wide>
              <SnapshotGrid snapshots={all} />
              {failed === null ? null : <Failure error={failed} />}
              {last !== undefined && all.length < data.total ? (
                <div>
                  <button type="button" className="pt-button" disabled={asking} onClick={() => more(last.id)}>
                    {asking ? "Loading …" : "Show older snapshots"}
                  </button>
                </div>
              ) : null}
            </Card>
          </>
        );
      }}
    </Loaded>
  );
}

/** Both pages, newest first, each snapshot once: new commits shift what the first page holds. */
export function merged(newest: readonly Snapshot[], older: readonly Snapshot[]): Snapshot[] {
  const found = new Map<number, Snapshot>();
  for (const snapshot of [...newest, ...older]) {
    if (!found.has(snapshot.id)) {
      found.set(snapshot.id, snapshot);
    }
  }
  return [...found.values()].sort((a, b) => b.id - a.id);
}

function SnapshotGrid({ snapshots }: { snapshots: readonly Snapshot[] }) {
  const [view, go] = useView();
  const [picked, setPicked] = useState<number[]>([]);
  const pick = (id: number) => setPicked((was) => (was.includes(id) ? was.filter((n) => n !== id) : [...was, id].slice(-2)));
  const columns: Column<Snapshot>[] = [
    {
      key: "pick",
      head: "Compare",
      cell: (s) => <input type="checkbox" aria-label={`Compare snapshot ${s.id}`} checked={picked.includes(s.id)} onChange={() => pick(s.id)} />,
    },
    {
      key: "id",
      head: "Snapshot",
      cell: (s) => (
        <span className="pt-inline">
          <button type="button" className="pt-linkbutton" onClick={() => go({ snapshot: s.id, from: null, to: null })}>
            #{s.id}
          </button>
          {s.tags.map((tag) => (
            <Chip key={tag} tone="info">
              {tag}
            </Chip>
          ))}
        </span>
      ),
    },
    { key: "kind", head: "Kind", cell: (s) => <Kind snapshot={s} /> },
    { key: "at", head: "When", cell: (s) => <When at={s.at} /> },
    { key: "added", head: "Rows added", number: true, cell: (s) => <span className={s.rows_added ? "pt-plus" : "pt-muted"}>{change(s.rows_added)}</span> },
    {
      key: "deleted",
      head: "Rows deleted",
      number: true,
      cell: (s) => <span className={s.rows_deleted ? "pt-minus" : "pt-muted"}>{s.rows_deleted === null ? "–" : change(s.rows_deleted === 0 ? 0 : -s.rows_deleted)}</span>,
    },
    { key: "files", head: "Files", number: true, cell: (s) => <FilesChange snapshot={s} /> },
    { key: "size", head: "Size", number: true, cell: (s) => bytes(s.bytes) },
    { key: "by", head: "Who", cell: (s) => (s.by === null ? <span className="pt-muted pt-cut" title={s.user ?? ""}>{writerName(s.user)}</span> : <RunLink run={s.by} />) },
  ];
  const [a, b] = [...picked].sort((x, y) => x - y);
  return (
    <>
      <div className="pt-toolbar">
        <button
          type="button"
          className="pt-button"
          disabled={a === undefined || b === undefined}
          onClick={() => {
            if (a !== undefined && b !== undefined) {
              go({ from: a, to: b, snapshot: null });
            }
          }}
        >
          {a !== undefined && b !== undefined ? `Compare #${a} with #${b}` : "Choose two to compare"}
        </button>
      </div>
      <Grid
        rows={snapshots}
        columns={columns}
        label="Snapshots"
        rowKey={(s) => s.id}
        rowClass={(s) => (s.id === view.snapshot ? "pt-chosen" : undefined)}
      />
    </>
  );
}

export function Kind({ snapshot }: { snapshot: Snapshot }) {
  return (
    <span className={`pt-kind pt-kind--${snapshot.kind}`}>
      <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
        <rect width="10" height="10" rx="2" />
      </svg>
      {snapshot.kind.charAt(0) + snapshot.kind.slice(1).toLowerCase()}
      {snapshot.operation && snapshot.operation.toUpperCase() !== snapshot.kind ? <span className="pt-muted"> · {snapshot.operation}</span> : null}
    </span>
  );
}

function FilesChange({ snapshot }: { snapshot: Snapshot }) {
  if (snapshot.files_added === null && snapshot.files_deleted === null) {
    return <>{count(snapshot.files)}</>;
  }
  return (
    <>
      +{count(snapshot.files_added)} −{count(snapshot.files_deleted)}
    </>
  );
}
