import { useCallback, useMemo } from "react";
import { useSearchParams } from "react-router-dom";

/** What the page shows is in its address, so that it can be shared, reloaded and gone back to. */

export const TABS = [
  ["overview", "Overview"],
  ["snapshots", "Snapshots"],
  ["live", "Live"],
  ["levels", "Levels"],
  ["partitions", "Partitions"],
  ["schema", "Schema"],
  ["options", "Options"],
  ["refs", "Refs"],
  ["maintenance", "Maintenance"],
  ["quality", "Quality"],
  ["sample", "Sample"],
  ["read", "Read it"],
  ["actions", "Actions"],
] as const;

export type Tab = (typeof TABS)[number][0];

export interface View {
  table: string | null;
  tab: Tab;
  snapshot: number | null;
  from: number | null;
  to: number | null;
  search: string;
  database: string;
  health: string;
  sort: string;
  offset: number;
  partition: string;
  action: string;
  by: string;
  value: string;
  agg: "sum" | "count";
}

const EMPTY: View = {
  table: null,
  tab: "overview",
  snapshot: null,
  from: null,
  to: null,
  search: "",
  database: "",
  health: "",
  sort: "",
  offset: 0,
  partition: "",
  action: "",
  by: "",
  value: "",
  agg: "sum",
};

const HEALTHS = new Set(["", "ok", "due", "bad", "unknown"]);

/** The view that `params` describe; what nobody can mean is taken as absent. */
export function parseView(params: URLSearchParams): View {
  const text = (name: string) => params.get(name) ?? "";
  const tab = text("tab");
  const health = text("health");
  return {
    table: text("table") || null,
    tab: TABS.find(([code]) => code === tab)?.[0] ?? "overview",
    snapshot: id(params.get("snapshot")),
    from: id(params.get("from")),
    to: id(params.get("to")),
    search: text("search"),
    database: text("database"),
    health: HEALTHS.has(health) ? health : "",
    sort: /^-?[a-z0-9_]+$/.test(text("sort")) ? text("sort") : "",
    offset: id(params.get("offset")) ?? 0,
    partition: text("partition"),
    action: text("action"),
    by: text("by"),
    value: text("value"),
    agg: text("agg") === "count" ? "count" : "sum",
  };
}

function id(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The query string of `view`: members that have their default are left out. */
export function toQuery(view: Partial<View>): URLSearchParams {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(view)) {
    if (value !== EMPTY[name as keyof View]) {
      params.set(name, String(value));
    }
  }
  return params;
}

/** Where the page of tables shows `view`, from any page of Airflow. */
export function tablePath(view: Partial<View>): string {
  return `/plugin/paimon-tables?${toQuery(view).toString()}`;
}

export type Go = (changes: Partial<View>, how?: { replace?: boolean; keep?: boolean }) => void;

/** The view, and how to go to another one: `changes` to this one, or with `keep: false` to an empty one. */
export function useView(): [View, Go, (changes: Partial<View>, keep?: boolean) => string] {
  const [params, setParams] = useSearchParams();
  const view = useMemo(() => parseView(params), [params]);
  const go = useCallback<Go>(
    (changes, how) =>
      setParams((was) => toQuery({ ...(how?.keep === false ? {} : parseView(was)), ...changes }), {
        replace: how?.replace ?? false,
      }),
    [setParams],
  );
  const link = useCallback(
    (changes: Partial<View>, keep = false) => `?${toQuery({ ...(keep ? view : {}), ...changes }).toString()}`,
    [view],
  );
  return [view, go, link];
}

/** The order after a press on the head of `column`: numbers begin with the largest. */
export function nextSort(sort: string, column: string, firstDescending: boolean): string {
  const first = firstDescending ? `-${column}` : column;
  const second = firstDescending ? column : `-${column}`;
  return sort === first ? second : first;
}
