/** What the live view shows, from the events that have come.  Pure. */

export type RowKind = "+I" | "-U" | "+U" | "-D";
export const ROW_KINDS: readonly RowKind[] = ["+I", "-U", "+U", "-D"];

/** After each commit: the table's groups and their numbers. */
export interface StateEvent {
  snapshot_id: number | null;
  bars: [string | null, number][];
}

/** One commit: how many rows it changed, and some of them. */
export interface ChangesEvent {
  snapshot_id: number;
  at: string | null;
  kind: string;
  counts: Partial<Record<RowKind, number>>;
  columns: string[];
  rows: (string | null)[][];
}

export interface Commit {
  id: number;
  at: string | null;
  kind: string;
  counts: Partial<Record<RowKind, number>>;
}

export interface ShownRow {
  key: string;
  snapshot: number;
  kind: string;
  values: (string | null)[];
}

export interface LiveState {
  status: "connecting" | "open" | "lost" | "gone";
  error: string | null;
  snapshot: number | null;
  bars: [string, number][];
  commits: Commit[];
  columns: string[];
  rows: ShownRow[];
  seen: Record<RowKind, number>;
  paused: boolean;
  /** What came while paused, in order; shown when going on. */
  held: LiveEvent[];
  dropped: number;
}

export type LiveEvent =
  | { type: "open" }
  | { type: "lost" }
  | { type: "state"; state: StateEvent }
  | { type: "changes"; changes: ChangesEvent }
  | { type: "gone"; message: string }
  | { type: "pause" }
  | { type: "resume" };

export const ROWS_MAX = 200;
export const COMMITS_MAX = 60;
export const HELD_MAX = 500;

export const START: LiveState = {
  status: "connecting",
  error: null,
  snapshot: null,
  bars: [],
  commits: [],
  columns: [],
  rows: [],
  seen: { "+I": 0, "-U": 0, "+U": 0, "-D": 0 },
  paused: false,
  held: [],
  dropped: 0,
};

export function reduce(state: LiveState, event: LiveEvent): LiveState {
  switch (event.type) {
    case "open":
      return { ...state, status: "open", error: null };
    case "lost":
      return state.status === "gone" ? state : { ...state, status: "lost" };
    case "gone":
      return { ...state, status: "gone", error: event.message };
    case "pause":
      return { ...state, paused: true };
    case "resume":
      return state.held.reduce<LiveState>(reduce, { ...state, paused: false, held: [], dropped: 0 });
    case "state":
      return state.paused ? hold(state, event) : withBars(state, event.state);
    case "changes":
      return state.paused ? hold(state, event) : withChanges(state, event.changes);
  }
}

function hold(state: LiveState, event: LiveEvent): LiveState {
  const held = [...state.held, event];
  const over = Math.max(0, held.length - HELD_MAX);
  return { ...state, status: "open", held: held.slice(over), dropped: state.dropped + over };
}

function withBars(state: LiveState, { snapshot_id, bars }: StateEvent): LiveState {
  const ordered = bars.map(([key, n]): [string, number] => [key === null ? "null" : key === "" ? "(empty)" : key, n]).sort((a, b) => b[1] - a[1]);
  return { ...state, status: "open", snapshot: snapshot_id, bars: ordered };
}

function withChanges(state: LiveState, changes: ChangesEvent): LiveState {
  // the server tells the newest again after a reconnect
  if (state.commits.some((commit) => commit.id === changes.snapshot_id)) {
    return state;
  }
  const rows = changes.rows.map(
    ([kind, ...values], i): ShownRow => ({
      key: `${changes.snapshot_id}/${i}`,
      snapshot: changes.snapshot_id,
      kind: kind ?? "+I",
      values,
    }),
  );
  const seen = { ...state.seen };
  for (const kind of ROW_KINDS) {
    seen[kind] += changes.counts[kind] ?? 0;
  }
  const commit: Commit = { id: changes.snapshot_id, at: changes.at, kind: changes.kind, counts: changes.counts };
  return {
    ...state,
    status: "open",
    snapshot: changes.snapshot_id,
    commits: [...state.commits, commit].slice(-COMMITS_MAX),
    columns: changes.columns.length > 0 ? changes.columns : state.columns,
    rows: [...rows.reverse(), ...state.rows].slice(0, ROWS_MAX),
    seen,
  };
}
