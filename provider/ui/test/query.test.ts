import { describe, expect, it } from "vitest";

import { nextSort, parseView, toQuery } from "../src/state/query";

const view = (text: string) => parseView(new URLSearchParams(text));

describe("the view in the address", () => {
  it("comes back as it was put there, and leaves out defaults", () => {
    const shared = "table=paimon%3A%2F%2Fa%2Fb%2Fc%26d&tab=snapshots&snapshot=17";
    expect(toQuery(view(shared)).toString()).toBe(shared);
    expect(toQuery(view("")).toString()).toBe("");
    expect(toQuery(view("tab=overview&offset=0&agg=sum")).toString()).toBe("");
  });

  it("takes what nobody can mean as absent", () => {
    expect(view("tab=nonsense").tab).toBe("overview");
    expect(view("health=excellent").health).toBe("");
    expect(view("snapshot=-1").snapshot).toBeNull();
    expect(view("snapshot=1e3").snapshot).toBeNull();
    expect(view("offset=99999999999999999999").offset).toBe(0);
    expect(view("sort=rows;drop").sort).toBe("");
    expect(view("agg=max").agg).toBe("sum");
  });

  it("keeps a snapshot 0 apart from none", () => {
    expect(view("snapshot=0").snapshot).toBe(0);
  });
});

it("a press on a head sorts, and the next press turns the order round", () => {
  expect(nextSort("", "rows", true)).toBe("-rows");
  expect(nextSort("-rows", "rows", true)).toBe("rows");
  expect(nextSort("rows", "rows", true)).toBe("-rows");
  expect(nextSort("-rows", "name", false)).toBe("name");
  expect(nextSort("name", "name", false)).toBe("-name");
});
