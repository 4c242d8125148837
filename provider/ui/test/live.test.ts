import { describe, expect, it } from "vitest";

import { choices, defaults } from "../src/live/columns";
import { COMMITS_MAX, HELD_MAX, reduce, ROWS_MAX, START, type ChangesEvent, type LiveEvent, type LiveState } from "../src/live/reducer";

const changes = (id: number, rows = 2): LiveEvent => ({
  type: "changes",
  changes: {
    snapshot_id: id,
    at: "2026-11-25T12:00:00Z",
    kind: "APPEND",
    counts: { "+I": rows, "-D": 1 },
    columns: ["country", "sales"],
    rows: Array.from({ length: rows }, (_, i) => ["+I", `c${i}`, String(id)]),
  } satisfies ChangesEvent,
});
const bars = (id: number, ...pairs: [string | null, number][]): LiveEvent => ({ type: "state", state: { snapshot_id: id, bars: pairs } });
const after = (events: LiveEvent[], from: LiveState = START) => events.reduce(reduce, from);

describe("the live view", () => {
  it("puts the largest group first, and the newest row on top", () => {
    const state = after([{ type: "open" }, bars(1, ["a", 1], [null, 9], ["", 3]), changes(2)]);
    expect(state.bars).toEqual([["null", 9], ["(empty)", 3], ["a", 1]]);
    expect(state.snapshot).toBe(2);
    expect(state.rows.map((r) => r.values[0])).toEqual(["c1", "c0"]);
    expect(state.seen).toEqual({ "+I": 2, "-U": 0, "+U": 0, "-D": 1 });
  });

  it("takes a commit once, though a reconnect tells it again", () => {
    const state = after([changes(5), { type: "lost" }, { type: "open" }, changes(5)]);
    expect(state.commits).toHaveLength(1);
    expect(state.rows).toHaveLength(2);
    expect(state.status).toBe("open");
  });

  it("says which commits it has not shown, after a reconnect and where too much came at once", () => {
    const away = after([{ type: "open" }, bars(12, ["a", 1]), changes(13), bars(13, ["a", 2]), { type: "lost" }, { type: "open" }, bars(55, ["a", 9]), changes(56)]);
    expect(away.gaps).toEqual([{ first: 14, last: 55 }]);
    expect(away.rows.map((r) => [r.snapshot, r.gap])).toEqual([[56, null], [56, null], [13, { first: 14, last: 55 }], [13, null]]);
    const many = after([changes(57), changes(60)], away);
    expect(many.gaps).toEqual([{ first: 14, last: 55 }, { first: 58, last: 59 }]);
    expect(after([bars(3), { type: "lost" }, bars(3), changes(4)]).gaps).toEqual([]);
  });

  it("holds what comes while paused, and shows it in order afterwards", () => {
    const paused = after([bars(1, ["a", 1]), { type: "pause" }, bars(2, ["a", 2]), changes(2), bars(3, ["a", 3]), changes(3)]);
    expect(paused.bars).toEqual([["a", 1]]);
    expect(paused.rows).toEqual([]);
    const on = reduce(paused, { type: "resume" });
    expect(on.bars).toEqual([["a", 3]]);
    expect(on.commits.map((c) => c.id)).toEqual([2, 3]);
    expect(on.held).toEqual([]);
  });

  it("stays bounded, whatever comes", () => {
    const many = after(Array.from({ length: 300 }, (_, i) => changes(i, 50)));
    expect(many.rows).toHaveLength(ROWS_MAX);
    expect(many.commits).toHaveLength(COMMITS_MAX);
    const held = after([{ type: "pause" }, ...Array.from({ length: HELD_MAX + 7 }, (_, i) => changes(i))]);
    expect(held.held).toHaveLength(HELD_MAX);
    expect(held.dropped).toBe(7);
  });

  it("says that the table is gone, and no lost connection hides it", () => {
    const state = after([{ type: "gone", message: "dropped" }, { type: "lost" }]);
    expect([state.status, state.error]).toEqual(["gone", "dropped"]);
  });
});

describe("the columns of the bars", () => {
  const field = (name: string, type: string) => ({ id: 0, name, type, nullable: true, comment: null });

  it("are text that is no key, and a number that is no key", () => {
    const table = { fields: [field("id", "BIGINT NOT NULL"), field("country", "STRING"), field("amount", "DECIMAL(10, 2)")], primary_key: ["id"], partition_by: [] };
    expect(defaults(table)).toEqual({ by: "country", value: "amount", agg: "sum" });
    expect(choices(table).value).toEqual(["id", "amount"]);
  });

  it("are the partition rather than text of which nobody knows how many values it has", () => {
    const fields = [field("dt", "STRING NOT NULL"), field("note", "STRING"), field("status", "STRING")];
    expect(defaults({ fields: fields.slice(0, 2), primary_key: [], partition_by: ["dt"] }).by).toBe("dt");
    expect(defaults({ fields, primary_key: [], partition_by: ["dt"] }).by).toBe("status");
  });

  it("count rows where there is no number to add up", () => {
    const table = { fields: [field("country", "STRING NOT NULL")], primary_key: ["country"], partition_by: [] };
    expect(defaults(table)).toEqual({ by: "country", value: "", agg: "count" });
  });
});
