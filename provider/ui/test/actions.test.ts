// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";

import { checked } from "../src/actions/arguments";
import { PausedDag, runAction } from "../src/actions/run";
import type { Parameter } from "../src/api/types";

const parameter = (name: string, type: Parameter["type"], required = false): Parameter => ({ name, type, required, does: null });

describe("the arguments of an action", () => {
  it("get the types of their parameters, and empty ones are left out", () => {
    const found = checked(
      [parameter("retain_max", "integer"), parameter("older_than", "datetime"), parameter("force", "boolean"), parameter("tag", "string"), parameter("none", "string")],
      { retain_max: " 10 ", older_than: "2026-11-25T12:30", force: "true", tag: "<b>", none: "  " },
    );
    expect(found).toEqual({ arguments: { retain_max: 10, older_than: "2026-11-25T12:30:00Z", force: true, tag: "<b>" }, wrong: {} });
  });

  it("are refused where they are", () => {
    const { wrong } = checked([parameter("n", "integer"), parameter("at", "datetime"), parameter("name", "string", true)], { n: "1.5", at: "soon" });
    expect(Object.keys(wrong)).toEqual(["n", "at", "name"]);
  });
});

describe("a run", () => {
  const conf = { action: "compact", table: "paimon://a/b/c", arguments: {}, dry_run: true };
  const signal = () => new AbortController().signal;
  const json = (body: unknown, status = 200) => Promise.resolve(new Response(JSON.stringify(body), { status }));

  function serve(over: Partial<Record<string, () => Promise<Response>>> = {}) {
    const asked: [string, RequestInit | undefined][] = [];
    let looks = 0;
    vi.stubGlobal("fetch", (url: string, init?: RequestInit) => {
      asked.push([url, init]);
      const path = new URL(url).pathname;
      for (const [end, answer] of Object.entries(over)) {
        if (answer !== undefined && path.endsWith(end)) {
          return answer();
        }
      }
      if (init?.method === "POST") {
        return json({ dag_run_id: "r 1", state: "queued" });
      }
      if (path.endsWith("/r%201")) {
        looks += 1;
        return json({ dag_run_id: "r 1", state: looks < 2 ? "running" : "success" });
      }
      if (path.endsWith("/taskInstances")) {
        return json({ task_instances: [{ task_id: "act", state: "success", map_index: -1 }, { task_id: "skip", state: "skipped", map_index: -1 }] });
      }
      if (path.endsWith("/return_value")) {
        return json({ value: '{"files_before": 3}' });
      }
      return json({ is_paused: false });
    });
    return asked;
  }

  it("is started, waited for, and its result read", async () => {
    const asked = serve();
    const states: string[] = [];
    const outcome = await runAction("up/keep", conf, (p) => states.push(p.state), signal(), 1);
    expect(outcome).toEqual({ runId: "r 1", state: "success", documents: [{ task: "act", value: { files_before: 3 } }], failed: [] });
    expect(states).toEqual(["queued", "running", "success"]);
    const [url, init] = asked[1] ?? ["", undefined];
    expect(url).toContain("/api/v2/dags/up%2Fkeep/dagRuns");
    expect(JSON.parse(init?.body as string)).toEqual({ logical_date: null, conf });
  });

  it("is not started when its Dag is paused", async () => {
    const asked = serve({ "/dags/d": () => json({ is_paused: true }) });
    await expect(runAction("d", conf, () => undefined, signal(), 1)).rejects.toThrow(PausedDag);
    expect(asked).toHaveLength(1);
  });

  it("may return nothing", async () => {
    serve({ "/return_value": () => json({ detail: "no" }, 404) });
    expect((await runAction("d", conf, () => undefined, signal(), 1)).documents).toEqual([]);
  });

  it("is no longer asked about by a page that was left", async () => {
    const asked = serve({ "/r%201": () => json({ dag_run_id: "r 1", state: "running" }) });
    const leaving = new AbortController();
    const running = runAction("d", conf, () => undefined, leaving.signal, 20);
    setTimeout(() => leaving.abort(), 5);
    await expect(running).rejects.toThrow("left");
    expect(asked).toHaveLength(2);
  });
});
