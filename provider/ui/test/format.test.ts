// @vitest-environment jsdom
import { describe, expect, it } from "vitest";

import { ago, bytes, change, count, dateTime, duration, percent, plural, short, tableName } from "../src/text/format";

describe("numbers", () => {
  it("are a dash when unknown, and 0 when 0", () => {
    for (const as of [count, short, bytes, duration, percent, change]) {
      expect(as(null)).toBe("–");
    }
    expect([count(0), short(0), bytes(0), duration(0), percent(0), change(0)]).toEqual(["0", "0", "0 B", "0 s", "0 %", "0"]);
  });

  it.each([
    [999, "999"],
    [1000, "1K"],
    [12_345, "12.3K"],
    [999_949, "1M"],
    [999_400, "999K"],
    [1_234_567, "1.23M"],
    [5e9, "5B"],
    [-2500, "−2.5K"],
    [0.5, "0.5"],
  ])("%d is short as %s", (n, text) => {
    expect(short(n)).toBe(text);
  });

  it.each([
    [1, "1 B"],
    [1023, "1,023 B"],
    [1024, "1 KiB"],
    [1536, "1.5 KiB"],
    [1024 ** 2 - 1, "1 MiB"],
    [5.25 * 1024 ** 3, "5.25 GiB"],
    [1024 ** 6, "1024 PiB"],
  ])("%d bytes are %s", (n, text) => {
    expect(bytes(n)).toBe(text);
  });

  it("carry their sign", () => {
    expect(change(1200)).toBe("+1,200");
    expect(change(-30)).toBe("−30");
    expect(change(2048, bytes)).toBe("+2 KiB");
  });

  it("have one or many", () => {
    expect(plural(1, "branch", "branches")).toBe("1 branch");
    expect(plural(1234, "table")).toBe("1,234 tables");
  });

  it("do not show a small share as none", () => {
    expect(percent(0.004)).toBe("< 1 %");
    expect(percent(0.5)).toBe("50 %");
  });
});

describe("times", () => {
  const now = Date.parse("2026-11-25T12:00:00Z");

  it.each([
    ["2026-11-25T11:59:58Z", "just now"],
    ["2026-11-25T11:59:00Z", "60 s ago"],
    ["2026-11-25T11:30:00Z", "30 min ago"],
    ["2026-11-24T12:00:00Z", "24 h ago"],
    ["2026-11-20T12:00:00Z", "5 days ago"],
    ["2026-11-25T12:02:00Z", "in 2 min"],
    ["yesterday", "–"],
    [null, "–"],
  ])("%s is %s", (at, text) => {
    expect(ago(at, now)).toBe(text);
  });

  it("are in the zone that the user chose in Airflow, and in UTC without one", () => {
    expect(dateTime("2026-11-25T12:00:00Z")).toBe("2026-11-25 12:00:00");
    localStorage.setItem("timezone", JSON.stringify("Asia/Tokyo"));
    expect(dateTime("2026-11-25T12:00:00Z")).toBe("2026-11-25 21:00:00");
    localStorage.setItem("timezone", "nonsense");
    expect(dateTime("2026-11-25T12:00:00Z")).toBe("2026-11-25 12:00:00");
  });
});

it("names a table by its URI, whatever is in it", () => {
  expect(tableName("paimon://lake/shop/orders")).toBe("lake/shop/orders");
  expect(tableName("paimon://lake/shop/k%C3%A4ufe")).toBe("lake/shop/käufe");
  expect(tableName("paimon://lake/100%")).toBe("lake/100%");
});
