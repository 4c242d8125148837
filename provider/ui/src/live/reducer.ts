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

/** Commits that nobody has seen here: the connection was away, or too much came at once. */
export interface Gap {
  first: number;
  last: number;
}

export interface ShownRow {
  key: string;
  /** What is missing between this row and the newer one above it. */
  gap: Gap | null;
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
  gaps: Gap[];
  /** The newest snapshot that was shown, or told to be missing. */
  told: number | null;
  /** Whether the next state is the first one after the connection was away. */
  again: boolean;
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
export const GAPS_MAX = 20;

export const START: LiveState = {
  status: "connecting",
  error: null,
  snapshot: null,
  bars: [],
  commits: [],
  columns: [],
  rows: [],
  seen: { "+I": 0, "-U": 0, "+U": 0, "-D": 0 },
  gaps: [],
  told: null,
  again: false,
  paused: false,
  held: [],
  dropped: 0,
};

export function reduce(state: LiveState, event: LiveEvent): LiveState {
  switch (event.type) {
    case "open":
      return { ...state, status: "open", error: null };
    case "lost":
      return state.status === "gone" ? state : { ...state, status: "lost", again: true };
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
  const next = { ...state, status: "open" as const, snapshot: snapshot_id, bars: ordered, again: false };
  if (snapshot_id === null) {
    return next;
  }
  return state.again && state.told !== null ? upTo(next, snapshot_id) : { ...next, told: state.told ?? snapshot_id };
}

/** As far as snapshot `id` goes, of which nothing was shown. */
function upTo(state: LiveState, id: number): LiveState {
  if (state.told === null || id <= state.told) {
    return state;
  }
  const gap = { first: state.told + 1, last: id };
  const [newest, ...older] = state.rows;
  const marked = newest === undefined ? state.rows : [{ ...newest, gap: joined(newest.gap, gap) }, ...older];
  return { ...state, rows: marked, told: id, gaps: [...state.gaps, gap].slice(-GAPS_MAX) };
}

function joined(one: Gap | null, later: Gap): Gap {
  return one === null ? later : { first: one.first, last: later.last };
}

function withChanges(before: LiveState, changes: ChangesEvent): LiveState {
  // the server tells the newest again after a reconnect
  if (before.commits.some((commit) => commit.id === changes.snapshot_id)) {
    return before;
  }
  const state = upTo(before, changes.snapshot_id - 1);
  const rows = changes.rows.map(
    ([kind, ...values], i): ShownRow => ({
      key: `${changes.snapshot_id}/${i}`,
      gap: null,
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
    told: Math.max(state.told ?? 0, changes.snapshot_id),
    commits: [...state.commits, commit].slice(-COMMITS_MAX),
    columns: changes.columns.length > 0 ? changes.columns : state.columns,
    rows: [...rows.reverse(), ...state.rows].slice(0, ROWS_MAX),
    seen,
  };
}
