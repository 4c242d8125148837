import { useCallback, useEffect, useRef, useState } from "react";

import type { Overview, TableList } from "../api/types";
import { useData } from "../api/useData";
import { Pager } from "../parts/Grid";
import { Tile, When } from "../parts/bits";
import { Empty, Failure, Loaded } from "../parts/states";
import { useView } from "../state/query";
import { bytes, count, plural, short } from "../text/format";
import { CollectorNote } from "./CollectorNote";
import { TableGrid } from "./TableGrid";

const PAGE = 100;
const EVERY_S = 30;
const HEALTHS: readonly [string, string][] = [
  ["", "All"],
  ["ok", "Healthy"],
  ["due", "Due"],
  ["bad", "Bad"],
  ["unknown", "Unknown"],
];

/** All tables: what there is at the top, then one line a table. */
export function ListPage() {
  const [view, go] = useView();
  const overview = useData<Overview>("overview", {}, EVERY_S);
  const list = useData<TableList>(
    "tables",
    {
      search: view.search,
      database: view.database,
      health: view.health,
      sort: view.sort || "-updated_at",
      offset: view.offset,
      limit: PAGE,
    },
    EVERY_S,
  );
  const filter = (health: string) => go({ health: view.health === health ? "" : health, offset: 0 });
  const filtered = view.search !== "" || view.database !== "" || view.health !== "";
  return (
    <main className="pt-page">
      <header className="pt-head">
        <h1>Paimon tables</h1>
        <div className="pt-head-side">
          {list.data?.collected_at ? (
            <span className="pt-muted">
              Last collected <When at={list.data.collected_at} />
              {list.data.collector === null ? null : ` in the warehouse of ${list.data.collector.conn_id}`}
            </span>
          ) : null}
          <button
            type="button"
            className="pt-button"
            onClick={() => {
              list.reload();
              overview.reload();
            }}
          >
            Refresh
          </button>
        </div>
      </header>
      <Tiles overview={overview.data} health={view.health} filter={filter} />
      {list.data === null ? null : <CollectorNote list={list.data} />}
      <div className="pt-toolbar" role="search">
        <SearchBox value={view.search} onChange={(search) => go({ search, offset: 0 }, { replace: true })} />
        <label className="pt-field">
          <span>Database</span>
          <select value={view.database} onChange={(event) => go({ database: event.target.value, offset: 0 })}>
            <option value="">All</option>
            {(list.data?.databases ?? (view.database ? [view.database] : [])).map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <div className="pt-segments" role="group" aria-label="Health">
          {HEALTHS.map(([code, text]) => (
            <button key={code} type="button" aria-pressed={view.health === code} onClick={() => go({ health: code, offset: 0 })}>
              {text}
            </button>
          ))}
        </div>
        <span className="pt-muted pt-toolbar-end" aria-live="polite">
          {list.data === null ? "" : plural(list.data.total, "table")}
        </span>
      </div>
      <Loaded of={list} lines={10}>
        {(data) =>
          data.tables.length === 0 ? (
            filtered ? (
              <Empty title="No table fits these filters">
                <button type="button" className="pt-button" onClick={() => go({}, { keep: false })}>
                  Clear the filters
                </button>
              </Empty>
            ) : (
              <Empty title="No tables yet">
                A table appears here when a task of a Dag writes it, or when a Dag names it as an asset.
              </Empty>
            )
          ) : (
            <>
              <TableGrid tables={data.tables} newest={data.collected_at} sort={view.sort || "-updated_at"} onSort={(sort) => go({ sort, offset: 0 })} />
              <Pager offset={view.offset} limit={PAGE} total={data.total} go={(offset) => go({ offset })} />
            </>
          )
        }
      </Loaded>
      {overview.error !== null && list.error === null ? <Failure error={overview.error} retry={overview.reload} /> : null}
    </main>
  );
}

function Tiles({ overview, health, filter }: {
  overview: Overview | null;
  health: string;
  filter: (health: string) => void;
}) {
  const of = overview;
  return (
    <div className="pt-tiles" aria-busy={of === null}>
      <Tile label="Tables" value={count(of?.tables)} />
      <Tile label="Rows" value={<span title={count(of?.rows)}>{short(of?.rows)}</span>} />
      <Tile label="Size" value={bytes(of?.bytes)} />
      <Tile label="Files" value={<span title={count(of?.files)}>{short(of?.files)}</span>} />
      <Tile
        label="Maintenance due"
        value={count(of?.due)}
        tone={of?.due ? "due" : undefined}
        onClick={() => filter("due")}
        pressed={health === "due"}
      />
      <Tile
        label="In bad health"
        value={count(of?.bad)}
        tone={of?.bad ? "bad" : undefined}
        onClick={() => filter("bad")}
        pressed={health === "bad"}
      />
      <Tile label="Stale" value={count(of?.stale)} tone={of?.stale ? "due" : undefined} />
      <Tile label="Events in 24 h" value={short(of?.events_24h)} />
    </div>
  );
}

const WAIT_MS = 250;

/** The search asks the server when the typing pauses; the key `/` leads here from anywhere on the page. */
function SearchBox({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const [text, setText] = useState(value);
  const [seen, setSeen] = useState(value);
  const [asked, setAsked] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  const latest = useRef(onChange);
  const ask = useCallback((wanted: string) => {
    setAsked(wanted);
    latest.current(wanted);
  }, []);
  useEffect(() => {
    latest.current = onChange;
  });
  if (seen !== value) {
    setSeen(value);
    if (value !== asked) {
      // Somebody else changed the address.  What was asked here comes back late: more may be typed by then.
      setText(value);
      setAsked(value);
    }
  }
  useEffect(() => {
    if (text === value) {
      return;
    }
    const timer = setTimeout(() => ask(text), WAIT_MS);
    return () => clearTimeout(timer);
  }, [text, value, ask]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.closest("input,select,textarea") !== null;
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        input.current?.focus();
      }
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <label className="pt-field pt-field--search">
      <span>Search</span>
      <input
        ref={input}
        type="search"
        value={text}
        placeholder="Name, database or catalog ( / )"
        maxLength={200}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            ask(text);
          }
        }}
      />
    </label>
  );
}
