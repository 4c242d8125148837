import type { ReactNode } from "react";
import { Link } from "react-router-dom";

import { ActionsTab } from "../actions/ActionsTab";
import type { TableDocument } from "../api/types";
import { useData } from "../api/useData";
import { LiveTab } from "../live/LiveTab";
import { Boundary } from "../parts/Boundary";
import { Tabs } from "../parts/Tabs";
import { Age, Badges, Chip, Copy, HealthMark, RunLink, Tile, When } from "../parts/bits";
import { Empty, Failure, Loading } from "../parts/states";
import { useView, type Tab } from "../state/query";
import { bytes, count, short, tableName, writerName } from "../text/format";
import { LevelsTab } from "./LevelsTab";
import { MaintenanceTab } from "./MaintenanceTab";
import { OptionsTab } from "./OptionsTab";
import { OverviewTab } from "./OverviewTab";
import { PartitionsTab } from "./PartitionsTab";
import { QualityTab } from "./QualityTab";
import { ReadTab } from "./ReadTab";
import { RefsTab } from "./RefsTab";
import { SampleTab } from "./SampleTab";
import { SchemaTab } from "./SchemaTab";
import { SnapshotsTab } from "./SnapshotsTab";

const EVERY_S = 30;

/** One table: what it is at the top, and the parts of it as tabs. */
export function TablePage({ uri }: { uri: string }) {
  const [view, go, link] = useView();
  const table = useData<TableDocument>("table", { uri }, EVERY_S);
  const of = table.data;
  return (
    <main className="pt-page">
      <nav className="pt-crumbs" aria-label="Place">
        <Link className="pt-link" to={link({})}>
          Paimon tables
        </Link>
        <span aria-hidden="true">/</span>
        {of === null ? (
          <span>{tableName(uri)}</span>
        ) : (
          <>
            <span>{of.catalog}</span>
            <span aria-hidden="true">/</span>
            <Link className="pt-link" to={link({ database: of.database })}>
              {of.database}
            </Link>
          </>
        )}
      </nav>
      {of === null ? (
        table.error === null ? (
          <Loading lines={8} what="Loading the table" />
        ) : (
          <Failure error={table.error} retry={table.reload} />
        )
      ) : (
        <>
          <Head table={of} />
          <Unreadable table={of} />
          {view.tab === "live" ? null : <Facts table={of} />}
          <Tabs tab={view.tab} go={(tab) => go({ table: uri, tab }, { keep: false })} marks={marks(of)} />
          <div id="pt-panel" role="tabpanel" aria-labelledby={`pt-tab-${view.tab}`} className="pt-panel">
            <Boundary key={view.tab}>{unreadable(of) !== null && NEEDS_THE_TABLE.has(view.tab) ? <Empty title="The table cannot be read" /> : panel(view.tab, of)}</Boundary>
          </div>
        </>
      )}
    </main>
  );
}

/** What would show defaults, or could not be done, while the table cannot be read. */
const NEEDS_THE_TABLE: ReadonlySet<Tab> = new Set<Tab>(["live", "levels", "partitions", "options", "maintenance", "sample", "actions"]);

/** Why the collector could not read the table; null if it could. */
function unreadable(table: TableDocument): string | null {
  return table.badges.find((badge) => badge.code === "unreadable")?.text ?? null;
}

function Unreadable({ table }: { table: TableDocument }) {
  const why = unreadable(table);
  return why === null ? null : (
    <div className="pt-note pt-note--error" role="alert">
      <strong>The table cannot be read: {why}</strong>
      <p>What this page shows of it was collected before, if anything.</p>
    </div>
  );
}

function panel(tab: Tab, table: TableDocument): ReactNode {
  switch (tab) {
    case "overview":
      return <OverviewTab table={table} />;
    case "snapshots":
      return <SnapshotsTab table={table} />;
    case "live":
      return <LiveTab table={table} />;
    case "levels":
      return <LevelsTab table={table} />;
    case "partitions":
      return <PartitionsTab table={table} />;
    case "schema":
      return <SchemaTab table={table} />;
    case "options":
      return <OptionsTab uri={table.uri} />;
    case "refs":
      return <RefsTab uri={table.uri} />;
    case "maintenance":
      return <MaintenanceTab table={table} />;
    case "quality":
      return <QualityTab results={table.quality} />;
    case "sample":
      return <SampleTab table={table} />;
    case "read":
      return <ReadTab table={table} />;
    case "actions":
      return <ActionsTab table={table} />;
  }
}

function marks(table: TableDocument): Partial<Record<Tab, string>> {
  const failed = table.quality.filter((result) => !result.passed).length;
  return {
    ...(failed > 0 ? { quality: `${failed} failed` } : {}),
    ...(table.partitions !== null && table.partitions > 1 ? { partitions: short(table.partitions) } : {}),
  };
}

function Head({ table }: { table: TableDocument }) {
  const [, go] = useView();
  return (
    <header className="pt-head">
      <div>
        <div className="pt-title">
          <h1>{table.name}</h1>
          <HealthMark health={table.health} />
          <Badges badges={table.badges} />
        </div>
        {table.comment ? <p className="pt-comment">{table.comment}</p> : null}
        <div className="pt-chips">
          {table.primary_key.length > 0 ? <Chip>key: {table.primary_key.join(", ")}</Chip> : table.kind === "append" ? <Chip>append table</Chip> : null}
          {table.partition_by.length > 0 ? <Chip>partitioned by {table.partition_by.join(", ")}</Chip> : null}
          {table.merge_engine ? <Chip>{table.merge_engine}</Chip> : null}
          {table.changelog_producer && table.changelog_producer !== "none" ? <Chip>changelog: {table.changelog_producer}</Chip> : null}
          {table.bucket === null ? null : <Chip>bucket: {String(table.bucket)}</Chip>}
          {table.format ? <Chip>{table.format}</Chip> : null}
        </div>
      </div>
      <div className="pt-head-side">
        {table.collected_at === null ? null : (
          <span className="pt-muted">
            Collected <When at={table.collected_at} />
          </span>
        )}
        {table.asset_id === null ? null : (
          <Link className="pt-button" to={`/assets/${table.asset_id}`}>
            Asset
          </Link>
        )}
        <Copy text={table.uri} what="of the asset" label="Copy URI" small={false} />
        <button type="button" className="pt-button" onClick={() => go({ table: table.uri, tab: "live" }, { keep: false })}>
          Watch live
        </button>
        <button
          type="button"
          className="pt-button pt-button--main"
          onClick={() => go({ table: table.uri, tab: "actions" }, { keep: false })}
        >
          Actions
        </button>
      </div>
    </header>
  );
}

function Facts({ table }: { table: TableDocument }) {
  const small = table.small_files;
  const writer = table.last_writer;
  return (
    <div className="pt-tiles">
      <Tile label="Rows" value={<span title={count(table.rows)}>{short(table.rows)}</span>} />
      <Tile label="Size" value={bytes(table.bytes)} />
      <Tile
        label="Files"
        value={short(table.files)}
        note={small === null ? undefined : small === 0 ? "none is small" : `${short(small)} small`}
      />
      <Tile label="Snapshot" value={table.snapshot_id === null ? "–" : `#${table.snapshot_id}`} />
      <Tile
        label="Updated"
        value={<Age seconds={table.freshness_s} at={table.updated_at} />}
        note={writer === null ? undefined : writer.by === null ? <span className="pt-cut" title={writer.user ?? ""}>by {writerName(writer.user)}</span> : <>by <RunLink run={writer.by} /></>}
      />
      <Tile
        label="Next maintenance"
        value={table.next_maintenance === null ? (table.kind === "unknown" ? "unknown" : "none due") : table.next_maintenance.action.replaceAll("_", " ")}
        note={table.next_maintenance?.reason}
      />
    </div>
  );
}
