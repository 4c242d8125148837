import type { Refs } from "../api/types";
import { useData } from "../api/useData";
import { Meter } from "../charts/Meter";
import { Grid } from "../parts/Grid";
import { Card, When } from "../parts/bits";
import { Empty, Loaded } from "../parts/states";
import { useView } from "../state/query";
import { count, duration, plural } from "../text/format";

/** Names that keep snapshots alive: tags, branches, and consumers with how far they are behind. */
export function RefsTab({ uri }: { uri: string }) {
  const refs = useData<Refs>("table/refs", { uri }, 30);
  return (
    <Loaded of={refs}>
      {(data) => (
        <>
          <Card title="Consumers" note={plural(data.consumers.length, "consumer")} wide>
            {data.consumers.length === 0 ? (
              <Empty title="No consumer">A consumer is a reader that has saved its position, so that expiry keeps what it has yet to read.</Empty>
            ) : (
              <Consumers consumers={data.consumers} />
            )}
          </Card>
          <Card title="Tags" note={plural(data.tags.length, "tag")} wide>
            {data.tags.length === 0 ? (
              <Empty title="No tag">A tag keeps a snapshot readable after it has expired.</Empty>
            ) : (
              <Grid
                rows={data.tags}
                label="Tags"
                rowKey={(t) => t.name}
                columns={[
                  { key: "name", head: "Tag", cell: (t) => <code>{t.name}</code> },
                  { key: "snapshot", head: "Snapshot", cell: (t) => <SnapshotLink uri={uri} id={t.snapshot_id} /> },
                  { key: "at", head: "Made", cell: (t) => <When at={t.at} /> },
                  { key: "expires", head: "Expires", cell: (t) => (t.expires_at === null ? <span className="pt-muted">never</span> : <When at={t.expires_at} />) },
                ]}
              />
            )}
          </Card>
          <Card title="Branches" note={plural(data.branches.length, "branch", "branches")} wide>
            {data.branches.length === 0 ? (
              <Empty title="No branch">A branch takes writes without touching the table.</Empty>
            ) : (
              <Grid
                rows={data.branches}
                label="Branches"
                rowKey={(b) => b.name}
                columns={[
                  { key: "name", head: "Branch", cell: (b) => <code>{b.name}</code> },
                  { key: "from", head: "From snapshot", cell: (b) => <SnapshotLink uri={uri} id={b.from_snapshot} /> },
                  { key: "at", head: "Made", cell: (b) => <When at={b.created_at} /> },
                ]}
              />
            )}
          </Card>
        </>
      )}
    </Loaded>
  );
}

function Consumers({ consumers }: { consumers: Refs["consumers"] }) {
  const most = Math.max(1, ...consumers.map((c) => c.lag_snapshots ?? 0));
  return (
    <Grid
      rows={consumers}
      label="Consumers"
      rowKey={(c) => c.name}
      columns={[
        { key: "name", head: "Consumer", cell: (c) => <code>{c.name}</code> },
        { key: "next", head: "Reads next", number: true, cell: (c) => (c.next_snapshot === null ? "–" : `#${c.next_snapshot}`) },
        {
          key: "lag",
          head: "Behind",
          number: true,
          cell: (c) => (
            <>
              {c.lag_snapshots === null ? "–" : c.lag_snapshots === 0 ? "up to date" : plural(c.lag_snapshots, "snapshot")}
              <Meter value={c.lag_snapshots} most={most} label={`${count(c.lag_snapshots)} snapshots behind`} />
            </>
          ),
        },
        { key: "time", head: "In time", number: true, cell: (c) => duration(c.lag_s) },
      ]}
    />
  );
}

function SnapshotLink({ uri, id }: { uri: string; id: number | null }) {
  const [, go] = useView();
  if (id === null) {
    return <span className="pt-muted">–</span>;
  }
  return (
    <button type="button" className="pt-linkbutton" onClick={() => go({ table: uri, tab: "snapshots", snapshot: id }, { keep: false })}>
      #{id}
    </button>
  );
}
