// @vitest-environment jsdom
import { act, cleanup, configure, fireEvent, render, screen, within } from "@testing-library/react";
import { lazy, Suspense, useState, type ComponentType, type ReactNode } from "react";
import userEvent from "@testing-library/user-event";
import { MemoryRouter, Route, Routes, useLocation, useParams } from "react-router-dom";
import { beforeEach, describe, expect, it, vi } from "vitest";

import { App } from "../src/App";
import type { Line, Snapshot, TableDocument } from "../src/api/types";
import { loadedAnew } from "../src/parts/Settled";
import { AssetLink } from "../src/work/AssetLink";

const PATIENCE = { timeout: 20_000 };
configure({ asyncUtilTimeout: PATIENCE.timeout });

const EVIL = "<img src=x onerror=alert(1)>";
const URI = "paimon://lake/shop/orders";

const line = (over: Partial<Line> = {}): Line => ({
  uri: URI,
  catalog: "lake",
  database: "shop",
  name: "orders",
  kind: "primary-key",
  rows: 1_200_000,
  bytes: 5 * 1024 ** 2,
  files: 12,
  small_files: 3,
  partitions: 1,
  snapshot_id: 7,
  updated_at: "2026-11-25T12:00:00Z",
  freshness_s: 60,
  last_writer: { user: "u", by: { dag_id: "shop", task_id: "write", run_id: "r/1", map_index: 2 }, at: null },
  health: "due",
  badges: [{ code: "small", text: "many small files", severity: "warning" }],
  next_maintenance: { action: "expire_snapshots", reason: "too many" },
  variants: [],
  events_24h: 4,
  collected_at: "2026-11-25T12:00:00Z",
  ...over,
});

const document_ = (over: Partial<TableDocument> = {}): TableDocument => ({
  ...line(),
  comment: EVIL,
  primary_key: ["id"],
  partition_by: [],
  merge_engine: "deduplicate",
  changelog_producer: "none",
  bucket: "4",
  format: "parquet",
  fields: [{ id: 0, name: "id", type: "BIGINT", nullable: false, comment: EVIL }],
  lineage: { writers: [], readers: [], upstream: [], downstream: [], columns: [] },
  quality: [],
  asset_id: 4,
  may_read_rows: false,
  rows_right: { source: "every", reason: "rows are for who may read every Dag", dags: [] },
  read_it: { python: "p", sql: "s", spark: "k" },
  ...over,
});

const snapshot = (id: number): Snapshot => ({
  id,
  at: "2026-11-25T12:00:00Z",
  kind: "APPEND",
  operation: null,
  user: "u",
  identifier: "1",
  by: null,
  rows_added: 10,
  rows_deleted: 0,
  rows: 10,
  bytes: 10,
  files_added: 1,
  files_deleted: 0,
  files: 1,
  schema_id: 0,
  watermark: null,
  tags: [],
  properties: null,
});

let answers: Record<string, (query: URLSearchParams) => unknown>;
let asked: string[];

function Address() {
  const { search } = useLocation();
  return <output data-testid="address">{search}</output>;
}

async function open(query = "") {
  render(
    <MemoryRouter initialEntries={[`/plugin/paimon-tables${query}`]}>
      <App />
      <Address />
    </MemoryRouter>,
  );
  await act(async () => {
    await new Promise((done) => setTimeout(done, 0));
  });
}

type Globals = Record<string, ComponentType | undefined>;

/** As Airflow shows a component of a plugin: first behind `lazy`, later from `globalThis`. */
function Airflow() {
  useParams();
  const globals = globalThis as unknown as Globals;
  const load = () =>
    Promise.resolve().then(() => {
      globals["Paimon tables"] = App as ComponentType;
      return { default: App as ComponentType };
    });
  const [Loaded] = useState(() => lazy(load));
  const Kept = globals["Paimon tables"];
  return Kept === undefined ? (
    <Suspense fallback="loading">
      <Loaded />
    </Suspense>
  ) : (
    <Kept />
  );
}

async function openInAirflow(query = "") {
  delete (globalThis as unknown as Globals)["Paimon tables"];
  loadedAnew();
  render(
    <MemoryRouter initialEntries={[`/plugin/paimon-tables${query}`]}>
      <Routes>
        <Route path="/plugin/:page" element={<Airflow />} />
      </Routes>
      <Address />
    </MemoryRouter>,
  );
  await screen.findByRole("heading", { level: 1 });
}

const atHumanSpeed = () => userEvent.setup({ delay: 260 });

const address = () => screen.getByTestId("address").textContent;

beforeEach(() => {
  asked = [];
  const list = { total: 250, databases: ["shop"], collected_at: "2026-11-25T12:00:00Z", collector: { dag_id: "c", table: "t", conn_id: "paimon_default" }, collector_error: null, collector_known: true, tables: [line()] };
  answers = {
    tables: () => list,
    overview: () => ({ tables: 250, rows: 1, bytes: 1, files: 1, due: 3, bad: 0, stale: 0, events_24h: 9, collected_at: null }),
    table: () => document_(),
    "table/history": () => ({ at: [], rows: [], bytes: [], files: [] }),
    "table/snapshots": (query) => ({ total: 3, snapshots: query.get("before") === "2" ? [snapshot(1)] : [snapshot(3), snapshot(2)] }),
  };
  vi.stubGlobal("fetch", (url: string) => {
    const { pathname, searchParams, search } = new URL(url);
    const path = pathname.replace("/paimon/api/", "");
    asked.push(path + search);
    const body = answers[path]?.(searchParams);
    return Promise.resolve(body instanceof Response ? body : new Response(JSON.stringify(body ?? {}), { status: body === undefined ? 404 : 200 }));
  });
});

describe("the note on the collector", () => {
  const told = async (over: object) => {
    answers.tables = () => ({ total: 0, databases: [], collected_at: null, collector: null, collector_error: null, collector_known: true, tables: [], ...over });
    await open();
    return screen.queryByRole("note")?.textContent ?? "";
  };

  it("is not there while nobody has looked, and names what keeps the page from it", async () => {
    expect(await told({ collector_known: false })).toBe("");
    cleanup();
    expect(await told({})).toContain("add one task of PaimonCollectMetadataOperator");
    cleanup();
    const away = await told({ collector_error: "unavailable" });
    expect(away).toContain("cannot be read now: unavailable");
    expect(away).not.toContain("add one task");
  });
});

describe("how fresh the numbers are", () => {
  it("is told of each table that was collected before others", async () => {
    const [newest, older] = ["2026-11-25T12:11:00Z", "2026-11-25T12:00:00Z"];
    const tables = [line({ collected_at: older }), line({ uri: `${URI}2`, name: "fresh", collected_at: newest }), line({ uri: `${URI}3`, name: "foreign", collected_at: null })];
    answers.tables = () => ({ total: 3, databases: ["shop"], collected_at: newest, collector: null, collector_error: null, collector_known: true, tables });
    await open();
    const rows = await screen.findAllByRole("row");
    expect(rows.slice(1).map((row) => row.textContent.includes("collected"))).toEqual([true, false, false]);
  });

  it("is told of the table that is looked at, and its live view has no older numbers beside it", async () => {
    answers.table = () => document_({ snapshot_id: 7 });
    await open(`?table=${encodeURIComponent(URI)}`);
    expect((await screen.findAllByRole("banner"))[0]?.textContent).toContain("Collected ");
    expect(screen.getByText("#7")).toBeTruthy();
    cleanup();
    await open(`?table=${encodeURIComponent(URI)}&tab=live`);
    await screen.findByRole("heading", { level: 1 });
    expect(screen.queryByText("#7")).toBeNull();
  });
});

describe("a history", () => {
  const drawn = async (at: string[], rows: (number | null)[], over: Partial<TableDocument> = {}) => {
    answers.table = () => document_(over);
    answers["table/history"] = () => ({ at, rows, bytes: rows, files: rows });
    await open(`?table=${encodeURIComponent(URI)}`);
    return (await screen.findAllByRole("figure"))[0];
  };

  it("draws a single point, names a moment once, and seconds where the minute is the same", async () => {
    const one = await drawn(["2026-11-25T12:00:00Z"], [20]);
    expect(one?.querySelectorAll("circle.pt-dot")).toHaveLength(1);
    expect(one?.textContent.match(/2026-11-25 12:00(?!:)/g)).toHaveLength(1);
    cleanup();
    const two = await drawn(["2026-11-25T12:00:01Z", "2026-11-25T12:00:07Z"], [20, 40]);
    expect(two?.querySelectorAll("circle.pt-dot")).toHaveLength(0);
    expect([...(two?.querySelectorAll("svg > text") ?? [])].map((text) => text.textContent)).toEqual(["2026-11-25 12:00:01", "2026-11-25 12:00:07"]);
  });

  it("says that a table with a key has its stored rows counted", async () => {
    await drawn(["2026-11-25T12:00:00Z"], [20]);
    expect(screen.getAllByText("Stored rows").length).toBeGreaterThan(0);
    cleanup();
    await drawn(["2026-11-25T12:00:00Z"], [20], { kind: "append" });
    expect(screen.queryByText("Stored rows")).toBeNull();
  });
});

describe("who wrote", () => {
  it("is a task, a name, or another program, but no id", async () => {
    const writer = (user: string) => line({ last_writer: { user, by: null, at: null } });
    answers.tables = () => ({ total: 2, databases: ["shop"], collected_at: null, collector: null, collector_error: null, collector_known: true, tables: [writer("3f2b9d3c-1f3e-4d5a-9c55-0a2f6f1c2b3d"), { ...writer("flink"), uri: `${URI}2` }] });
    await open();
    expect(await screen.findByText("another program")).toBeTruthy();
    expect(screen.getByText("flink")).toBeTruthy();
    expect(screen.queryByText(/3f2b9d3c/)).toBeNull();
  });
});

describe("a table that cannot be read", () => {
  it("says so, and shows no default in its place", async () => {
    const why = "schema-0 is no JSON";
    const badges = [{ code: "unreadable", text: why, severity: "error" as const }];
    answers.table = () => document_({ kind: "unknown", health: "bad", badges, primary_key: [], next_maintenance: null, fields: [] });
    await open(`?table=${encodeURIComponent(URI)}&tab=options`);
    expect((await screen.findByRole("alert")).textContent).toContain(why);
    expect(screen.queryByText("append table")).toBeNull();
    expect(screen.queryByText("none due")).toBeNull();
    expect(screen.getByText("The table cannot be read")).toBeTruthy();
    expect(asked.filter((path) => path.startsWith("table/options"))).toEqual([]);
  });
});

describe("in Airflow", () => {
  it("keeps what is typed, letter by letter, and the focus", async () => {
    await openInAirflow();
    const field = screen.getByRole("searchbox");
    const user = atHumanSpeed();
    await user.click(field);
    await user.keyboard("orders");
    expect(document.activeElement).toBe(field);
    expect((field as HTMLInputElement).value).toBe("orders");
    await vi.waitFor(() => expect(address()).toBe("?search=orders"), PATIENCE);
  });

  it("lets arrows walk along the tabs", async () => {
    await openInAirflow(`?table=${encodeURIComponent(URI)}`);
    const first = await screen.findByRole("tab", { name: /Overview/ });
    first.focus();
    const user = atHumanSpeed();
    await user.keyboard("{ArrowRight}{ArrowRight}{ArrowRight}");
    expect(document.activeElement?.textContent).toBe("Levels");
    expect(address()).toContain("tab=levels");
  });
});

describe("the list", () => {
  it("shows a table in one line, and leads to it and to its writer", async () => {
    await open();
    expect(screen.getByText(/in the warehouse of paimon_default/)).toBeTruthy();
    const row = screen.getByRole("link", { name: "orders" }).closest("tr");
    const cells = within(row as HTMLElement);
    expect(cells.getByText("1.2M")).toBeTruthy();
    expect(cells.getByText("5 MiB")).toBeTruthy();
    expect(cells.getByText("many small files")).toBeTruthy();
    expect(cells.getByText("expire snapshots")).toBeTruthy();
    expect(cells.getByRole("link", { name: "shop.write" }).getAttribute("href")).toBe("/dags/shop/runs/r%2F1/tasks/write/mapped/2");
  });

  it("sorts, filters, pages and searches by the address", async () => {
    await open();
    await userEvent.click(screen.getByRole("button", { name: /^Size/ }));
    expect(address()).toBe("?sort=-bytes");
    await userEvent.click(screen.getByRole("button", { name: /Maintenance due/ }));
    expect(address()).toBe("?health=due&sort=-bytes");
    await userEvent.click(screen.getByRole("button", { name: "Next" }));
    expect(address()).toContain("offset=100");
    fireEvent.change(screen.getByRole("searchbox"), { target: { value: "clicks" } });
    await vi.waitFor(() => expect(address()).toContain("search=clicks"), PATIENCE);
    expect(address()).not.toContain("offset");
    await vi.waitFor(() => expect(asked.at(-1)).toContain("search=clicks"), PATIENCE);
  });

  it("says what to do when nothing is collected, nothing fits, or the server refuses", async () => {
    answers["tables"] = () => ({ total: 0, databases: [], collected_at: null, collector: null, collector_error: null, collector_known: true, tables: [] });
    await open("?search=x");
    expect(screen.getByRole("note").textContent).toContain("PaimonCollectMetadataOperator");
    expect(screen.getByText("No table fits these filters")).toBeTruthy();
    answers["tables"] = () => new Response('{"error": {"kind": "forbidden", "message": "Not for you."}}', { status: 403 });
    await userEvent.click(screen.getByRole("button", { name: "Refresh" }));
    expect((await screen.findByRole("alert")).textContent).toContain("Not for you.");
  });

  it("asks again by itself when the server has just started", async () => {
    let turns = 0;
    answers["tables"] = () => (turns++ === 0 ? new Response("{}", { status: 503 }) : { total: 1, databases: [], collected_at: null, collector: null, collector_error: null, collector_known: true, tables: [line()] });
    await open();
    expect(screen.getByRole("alert")).toBeTruthy();
    await vi.waitFor(() => expect(screen.getByRole("link", { name: "orders" })).toBeTruthy(), PATIENCE);
  });
});

describe("a table", () => {
  const of = `?table=${encodeURIComponent(URI)}`;

  it("shows what others wrote as text", async () => {
    await open(of);
    expect(screen.getAllByText(EVIL)).toHaveLength(2);
    expect(document.querySelector("img")).toBeNull();
  });

  it("moves between its tabs by keyboard, and the address follows", async () => {
    await open(of);
    const first = screen.getByRole("tab", { name: "Overview" });
    first.focus();
    await userEvent.keyboard("{ArrowRight}");
    expect(address()).toContain("tab=snapshots");
    expect(screen.getByRole("tab", { name: "Snapshots" })).toBe(document.activeElement);
    await userEvent.keyboard("{End}");
    expect(address()).toContain("tab=actions");
    await userEvent.keyboard("{Home}");
    expect(address()).not.toContain("tab=");
  });

  it("compares two snapshots that are chosen, the older one first", async () => {
    await open(`${of}&tab=snapshots`);
    await userEvent.click(screen.getByRole("checkbox", { name: "Compare snapshot 3" }));
    await userEvent.click(screen.getByRole("checkbox", { name: "Compare snapshot 2" }));
    await userEvent.click(screen.getByRole("button", { name: "Compare #2 with #3" }));
    expect(address()).toContain("from=2&to=3");
  });

  it("shows older snapshots after the ones that are there, each once", async () => {
    await open(`${of}&tab=snapshots`);
    await userEvent.click(screen.getByRole("button", { name: "Show older snapshots" }));
    expect(await screen.findByRole("button", { name: "#1" })).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Show older snapshots" })).toBeNull();
    expect(asked).toContain(`table/snapshots?uri=${encodeURIComponent(URI)}&before=2&limit=100`);
  });

  it.each(["sample", "live"])("does not ask for rows that the user may not read: %s", async (tab) => {
    await open(`${of}&tab=${tab}`);
    expect(screen.getByText("You may not read rows of this table")).toBeTruthy();
    expect(asked.filter((path) => /sample|live/.test(path))).toEqual([]);
  });

  it("says that it does not exist", async () => {
    answers["table"] = () => new Response('{"error": {"kind": "missing", "message": "No such table.", "facts": {"table": "x"}}}', { status: 404 });
    await open(of);
    expect(screen.getByRole("alert").textContent).toContain("No such table.");
  });
});

describe("links where people are", () => {
  const at = async (path: string, part: ReactNode) => {
    render(<MemoryRouter initialEntries={[path]}>{part}</MemoryRouter>);
    await act(async () => {
      await new Promise((done) => setTimeout(done, 0));
    });
  };
  const table = `/plugin/paimon-tables?table=${encodeURIComponent(URI)}`;

  it("leads from a task of a run to its tables and to the snapshots that it made", async () => {
    const by = { dag_id: "shop", task_id: "write", run_id: "r/1", map_index: 2 };
    answers["work"] = () => ({
      total: 1,
      tables: [{ uri: URI, line: line(), roles: ["writes", "starts"], tasks: ["write"] }],
      done: [{ uri: URI, at: null, by, action: "merge_into", snapshot_id: 7, rows_written: 12 }],
    });
    await at("/dags/shop/runs/r1/tasks/write", <App dagId="shop" taskId="write" runId="r/1" mapIndex="2" />);
    expect(asked).toEqual(["work?dag_id=shop&task_id=write&run_id=r%2F1&map_index=2"]);
    expect(screen.getAllByRole("link", { name: "lake/shop/orders" })[0]?.getAttribute("href")).toBe(table);
    expect(screen.getByText("starts the Dag")).toBeTruthy();
    expect(screen.getByRole("link", { name: "#7" }).getAttribute("href")).toBe(`${table}&tab=snapshots&snapshot=7`);
  });

  it("says what makes a table appear in a Dag without one", async () => {
    answers["work"] = () => ({ total: 0, tables: [], done: [] });
    await at("/dags/shop", <App dagId="shop" />);
    expect(screen.getByText("No tables here yet")).toBeTruthy();
  });

  it("leads from an asset to its table, and is nothing on all other pages", async () => {
    answers["asset"] = () => ({ uri: URI, label: "", line: line(), events: [{ at: null, by: null, snapshot_id: 5 }] });
    await at("/assets/12", <AssetLink />);
    expect(screen.getByRole("link", { name: "lake/shop/orders" }).getAttribute("href")).toBe(table);
    expect(screen.getByRole("link", { name: "snapshot 5" })).toBeTruthy();
    cleanup();
    asked = [];
    await at("/dags", <AssetLink />);
    answers["asset"] = () => new Response("{}", { status: 404 });
    await at("/assets/13", <AssetLink />);
    expect(asked).toEqual(["asset?id=13"]);
    expect(screen.queryByText("Paimon table")).toBeNull();
  });
});
