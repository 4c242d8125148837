// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";

import { address, refusal, request } from "../src/api/client";

describe("requests", () => {
  it("go below the path that Airflow is served under", () => {
    const base = document.createElement("base");
    base.href = "http://localhost:3000/deployments/blue/";
    document.head.append(base);
    expect(address("paimon/api/tables", { search: "a&b", database: "", offset: 0, sort: null })).toBe(
      "http://localhost:3000/deployments/blue/paimon/api/tables?search=a%26b&offset=0",
    );
    base.remove();
  });

  it("say what the server said", () => {
    const told = refusal(404, JSON.stringify({ error: { kind: "missing", message: "no such table", facts: { table: "x" } } }));
    expect([told.status, told.kind, told.message, told.facts]).toEqual([404, "missing", "no such table", { table: "x" }]);
    expect(refusal(403, '{"detail": "Forbidden"}').message).toContain("(Forbidden)");
    expect(refusal(502, "<html>").message).toBe("The server answered with status 502.");
    expect(refusal(401, "").message).toContain("Log in again");
  });

  it("do not take a page for a document", async () => {
    vi.stubGlobal("fetch", () => Promise.resolve(new Response("<html>", { status: 200 })));
    await expect(request("http://localhost/x")).rejects.toThrow("not JSON");
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("refused")));
    await expect(request("http://localhost/x")).rejects.toThrow("did not answer");
  });
});
