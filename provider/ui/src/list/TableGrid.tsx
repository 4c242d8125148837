import type { KeyboardEvent } from "react";
import { Link } from "react-router-dom";

import type { Line } from "../api/types";
import { Meter } from "../charts/Meter";
import { Grid, type Column } from "../parts/Grid";
import { Age, Badges, HealthMark, RunLink, When } from "../parts/bits";
import { useView } from "../state/query";
import { bytes, count, plural, short, writerName } from "../text/format";

/** Of fewer files nobody cares how large they are. */
const FEW = 5;
const KIND: Record<Line["kind"], string> = { "primary-key": "primary key", append: "append", unknown: "" };

/** One line a table.  Up and Down move between the names. */
export function TableGrid({ tables, newest, sort, onSort }: {
  tables: readonly Line[];
  /** When any of them was collected last. */
  newest: string | null;
  sort: string;
  onSort: (sort: string) => void;
}) {
  const columns: Column<Line>[] = [
    { key: "name", head: "Table", sort: "name", cell: (t) => <Name table={t} /> },
    { key: "health", head: "Health", sort: "health", cell: (t) => <HealthMark health={t.health} /> },
    { key: "rows", head: "Rows", sort: "rows", number: true, cell: (t) => <span title={count(t.rows)}>{short(t.rows)}</span> },
    { key: "bytes", head: "Size", sort: "bytes", number: true, cell: (t) => bytes(t.bytes) },
    { key: "files", head: "Files", sort: "files", number: true, cell: (t) => <Files table={t} /> },
    { key: "updated", head: "Updated", sort: "updated_at", number: true, cell: (t) => <Updated table={t} newest={newest} /> },
    { key: "writer", head: "Last writer", cell: (t) => <Writer table={t} /> },
    { key: "next", head: "Next maintenance", cell: (t) => <Next table={t} /> },
    { key: "events", head: "Events 24 h", sort: "events_24h", number: true, shy: true, cell: (t) => short(t.events_24h) },
  ];
  return (
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions -- it only moves the focus between links
    <div onKeyDown={moveFocus}>
      <Grid rows={tables} columns={columns} label="Tables" rowKey={(t) => t.uri} sort={sort} onSort={onSort} />
    </div>
  );
}

function moveFocus(event: KeyboardEvent<HTMLDivElement>) {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-row]")];
  const at = links.findIndex((link) => link === document.activeElement);
  const next = links[at + step];
  if (step !== 0 && at >= 0 && next !== undefined) {
    event.preventDefault();
    next.focus();
  }
}

function Name({ table }: { table: Line }) {
  const [, , link] = useView();
  return (
    <div className="pt-name">
      <Link data-row="" className="pt-link pt-name-link" to={link({ table: table.uri })}>
        {table.name}
      </Link>
      <Badges badges={table.badges} />
      <span className="pt-muted pt-name-where">
        {table.catalog} / {table.database}
        {KIND[table.kind] === "" ? "" : ` · ${KIND[table.kind]}`}
        {table.partitions !== null && table.partitions > 1 ? ` · ${plural(table.partitions, "partition")}` : ""}
      </span>
      {table.variants.length === 0 ? null : (
        <span className="pt-variants">
          {table.variants.map((variant) => (
            <span key={variant.uri} className="pt-variant" title={variant.uri}>
              {variant.label}
            </span>
          ))}
        </span>
      )}
    </div>
  );
}

function Files({ table }: { table: Line }) {
  const small = table.small_files;
  return (
    <>
      <span title={count(table.files)}>{short(table.files)}</span>
      {small === null || table.files === null || table.files < FEW ? null : (
        <Meter value={table.files} most={table.files} bad={small} label={`${plural(small, "small file")} of ${count(table.files)}`} />
      )}
    </>
  );
}

const BEHIND_MS = 60_000;

/** When it changed; where other tables were collected later, also as of when that is known. */
function Updated({ table, newest }: { table: Line; newest: string | null }) {
  const behind = table.collected_at !== null && newest !== null && Date.parse(newest) - Date.parse(table.collected_at) > BEHIND_MS;
  return (
    <>
      <Age seconds={table.freshness_s} at={table.updated_at} />
      {behind ? (
        <span className="pt-muted pt-name-where">
          collected <When at={table.collected_at} />
        </span>
      ) : null}
    </>
  );
}

function Writer({ table }: { table: Line }) {
  const writer = table.last_writer;
  if (writer === null) {
    return <span className="pt-muted">–</span>;
  }
  return writer.by === null ? (
    <span className="pt-cut" title={writer.user ?? ""}>
      {writerName(writer.user)}
    </span>
  ) : (
    <RunLink run={writer.by} />
  );
}

function Next({ table }: { table: Line }) {
  const next = table.next_maintenance;
  return next === null ? (
    <span className="pt-muted">–</span>
  ) : (
    <>
      <span>{next.action.replaceAll("_", " ")}</span>
      {table.badges.some((badge) => badge.text === next.reason) ? null : <span className="pt-muted pt-name-where">{next.reason}</span>}
    </>
  );
}
