import { Fragment, useState } from "react";

import type { TableDocument } from "../api/types";
import { Card, Tile, useNow } from "../parts/bits";
import { Empty } from "../parts/states";
import { useView } from "../state/query";
import { NotAllowed } from "../table/SampleTab";
import { ago, count, plural } from "../text/format";
import { choices, defaults } from "./columns";
import { RaceBars } from "./RaceBars";
import { ROW_KINDS, type Commit, type Gap, type LiveEvent, type LiveState } from "./reducer";
import { useLive } from "./useLive";

/** The table as it changes: its groups as bars that move, and the changed rows beside them. */
export function LiveTab({ table }: { table: TableDocument }) {
  const [view, go] = useView();
  if (!table.may_read_rows) {
    return <NotAllowed right={table.rows_right} />;
  }
  const first = defaults(table);
  const by = view.by || first.by;
  const value = view.value || first.value;
  const agg = view.by === "" && view.value === "" ? (view.agg === "count" ? "count" : first.agg) : view.agg;
  const { by: groups, value: numbers } = choices(table);
  if (by === "") {
    return <Empty title="The columns are not known yet">The live view groups by a column. The collector reads the columns.</Empty>;
  }
  return (
    <>
      <div className="pt-toolbar">
        <label className="pt-field">
          <span>Group by</span>
          <select value={by} onChange={(event) => go({ by: event.target.value, value, agg })}>
            {(groups.includes(by) ? groups : [by, ...groups]).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label className="pt-field">
          <span>Show</span>
          <select
            value={agg === "count" ? "" : value}
            onChange={(event) =>
              event.target.value === "" ? go({ by, value: "", agg: "count" }) : go({ by, value: event.target.value, agg: "sum" })
            }
          >
            <option value="">number of rows</option>
            {numbers.map((name) => (
              <option key={name} value={name}>
                sum of {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Stream key={`${by} ${value} ${agg}`} uri={table.uri} by={by} value={agg === "count" ? "" : value} agg={agg} />
    </>
  );
}

function Stream({ uri, by, value, agg }: { uri: string; by: string; value: string; agg: "sum" | "count" }) {
  const [state, tell] = useLive({ uri, by, value, agg });
  const title = agg === "count" ? `Rows by ${by}` : `Sum of ${value} by ${by}`;
  const last = state.commits.at(-1);
  const changed = ROW_KINDS.reduce((n, kind) => n + state.seen[kind], 0);
  return (
    <>
      <div className="pt-tiles">
        <Tile label="Stream" value={<Status state={state} />} note={<Pause state={state} tell={tell} />} />
        <Tile label="Snapshot" value={state.snapshot === null ? "–" : `#${state.snapshot}`} note={<LastCommit commit={last} />} />
        <Tile label="Commits seen" value={count(state.commits.length)} note={state.gaps.length === 0 ? <Pulse commits={state.commits} /> : missing(state.gaps)} />
        <Tile label="Rows changed" value={count(changed)} note={ROW_KINDS.map((kind) => `${kind} ${count(state.seen[kind])}`).join("  ")} />
      </div>
      {state.error === null ? null : (
        <div className="pt-note pt-note--error" role="alert">
          <strong>{state.error}</strong>
        </div>
      )}
      <div className="pt-live">
        <Card title={title}>
          {state.bars.length === 0 ? <Empty title={state.status === "connecting" ? "Connecting …" : "No rows yet"} /> : <RaceBars bars={state.bars} title={title} />}
        </Card>
        <Card title="Changes" note={state.rows.length === 0 ? "" : `the newest ${state.rows.length}`}>
          {state.rows.length === 0 ? (
            <Empty title="Waiting for the next commit">Changes appear here when somebody commits to the table.</Empty>
          ) : (
            <ChangedRows state={state} />
          )}
        </Card>
      </div>
    </>
  );
}

const SAID: Record<LiveState["status"], string> = { connecting: "connecting", open: "live", lost: "connecting again", gone: "ended" };

function Status({ state }: { state: LiveState }) {
  const status = state.paused ? "paused" : SAID[state.status];
  return (
    <span className={`pt-status pt-status--${state.paused ? "paused" : state.status}`} role="status">
      <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
        <circle cx="6" cy="6" r="4" />
      </svg>
      {status}
    </span>
  );
}

function Pause({ state, tell }: { state: LiveState; tell: (event: LiveEvent) => void }) {
  const waiting = state.held.filter((event) => event.type === "changes").length;
  return (
    <button
      type="button"
      className="pt-button pt-button--small"
      disabled={state.status === "gone"}
      onClick={() => tell({ type: state.paused ? "resume" : "pause" })}
    >
      {state.paused ? `Go on${waiting > 0 ? ` (${plural(waiting, "commit")} waiting)` : ""}` : "Pause"}
    </button>
  );
}

function LastCommit({ commit }: { commit: Commit | undefined }) {
  const now = useNow(1000);
  return commit === undefined ? <>no commit yet</> : <>{`${commit.kind.toLowerCase()}, ${ago(commit.at, now)}`}</>;
}

/** How many rows each of the last commits changed. */
function Pulse({ commits }: { commits: readonly Commit[] }) {
  const sizes = commits.map((c) => ROW_KINDS.reduce((n, kind) => n + (c.counts[kind] ?? 0), 0));
  const most = Math.max(1, ...sizes);
  return (
    <svg viewBox="0 0 120 16" width="120" height="16" className="pt-pulse" role="img" aria-label="Rows changed by each of the last commits">
      {sizes.slice(-30).map((size, i) => (
        <rect key={i} x={i * 4} width="3" y={16 - Math.max(1, (size / most) * 16)} height={Math.max(1, (size / most) * 16)} />
      ))}
    </svg>
  );
}

const KIND_SAID: Record<string, string> = { "+I": "inserted", "-U": "before", "+U": "after", "-D": "deleted" };

function ChangedRows({ state }: { state: LiveState }) {
  const [wide, setWide] = useState(false);
  const columns = wide ? state.columns : state.columns.slice(0, 5);
  return (
    <>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard */}
      <div className="pt-grid-box pt-feed" role="region" aria-label="Changed rows" tabIndex={0}>
        <table className="pt-grid pt-grid--rows">
          <thead>
            <tr>
              <th scope="col">Kind</th>
              {columns.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {state.rows.map((row) => (
              <Fragment key={row.key}>
                {row.gap === null ? null : (
                  <tr className="pt-change pt-change--gap">
                    <td colSpan={columns.length + 1}>{missing([row.gap])}</td>
                  </tr>
                )}
                <tr className={`pt-change pt-change--${kindClass(row.kind)}`}>
                  <td>
                    <span className="pt-change-kind" title={KIND_SAID[row.kind] ?? row.kind}>
                      {row.kind}
                    </span>
                  </td>
                  {columns.map((name, i) => (
                    <td key={name}>{row.values[i] ?? <em className="pt-muted">null</em>}</td>
                  ))}
                </tr>
              </Fragment>
            ))}
          </tbody>
        </table>
      </div>
      {state.columns.length > 5 ? (
        <button type="button" className="pt-linkbutton" onClick={() => setWide(!wide)}>
          {wide ? "Fewer columns" : `All ${state.columns.length} columns`}
        </button>
      ) : null}
    </>
  );
}

/** How many commits were not shown, and which. */
function missing(gaps: readonly Gap[]): string {
  const n = gaps.reduce((sum, gap) => sum + gap.last - gap.first + 1, 0);
  const ids = gaps.map((gap) => (gap.first === gap.last ? `#${gap.first}` : `#${gap.first} to #${gap.last}`)).join(", ");
  return `${plural(n, "commit")} not shown: ${ids}`;
}

function kindClass(kind: string): string {
  return kind === "+I" ? "insert" : kind === "-D" ? "delete" : kind === "-U" ? "before" : "after";
}
