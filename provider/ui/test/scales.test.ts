import { describe, expect, it } from "vitest";

import { alone, areaPath, linear, linePath, nearest, ticks, treemap } from "../src/charts/scales";

describe("scales", () => {
  it("map ends to ends, and one value to the middle", () => {
    const scale = linear([10, 20], [0, 100]);
    expect([scale(10), scale(15), scale(20)]).toEqual([0, 50, 100]);
    expect(linear([5, 5], [0, 100])(5)).toBe(50);
  });

  it.each([1, 7, 99, 1000, 12_345, 8_000_000])("ticks of %d are round, begin at 0 and reach it", (max) => {
    const found = ticks(max);
    expect(found[0]).toBe(0);
    expect(found.at(-1)).toBeGreaterThanOrEqual(max);
    expect(found.length).toBeLessThanOrEqual(6);
    expect(found.every(Number.isInteger)).toBe(true);
  });

  it("ticks of sizes are round in binary units", () => {
    expect(ticks(5 * 1024 ** 3, 3, 1024)).toEqual([0, 2, 4, 6].map((n) => n * 1024 ** 3));
    expect(ticks(0)).toEqual([0, 1]);
    expect(ticks(Number.NaN)).toEqual([0, 1]);
  });

  it("find the nearest point", () => {
    expect(nearest([0, 10, 20], 13)).toBe(1);
    expect(nearest([], 3)).toBe(-1);
  });
});

describe("paths", () => {
  it("break where a value is unknown", () => {
    expect(linePath([0, 1, 2, 3], [5, null, 6, 7])).toBe("M0.0 5.0M2.0 6.0H3.0V7.0");
    expect(areaPath([0, 1, 2, 3], [5, null, 6, 7], 10)).toBe("M0.0 10.0V5.0L0.0 10.0ZM2.0 10.0V6.0H3.0V7.0L3.0 10.0Z");
    expect(areaPath([], [], 10)).toBe("");
    expect(alone([5, null, 6, 7])).toEqual([0]);
    expect(alone([null, 5])).toEqual([1]);
    expect(alone([])).toEqual([]);
  });
});

describe("the treemap", () => {
  it("fills the space, without overlap, in proportion", () => {
    const weights = [50, 20, 10, 10, 5, 3, 2];
    const found = treemap(weights, 400, 200);
    expect(found).toHaveLength(weights.length);
    found.forEach((rect, i) => {
      expect(rect.width * rect.height).toBeCloseTo(((weights[i] ?? 0) / 100) * 80_000, 3);
      expect(rect.x).toBeGreaterThanOrEqual(-1e-6);
      expect(rect.x + rect.width).toBeLessThanOrEqual(400 + 1e-6);
      expect(rect.y + rect.height).toBeLessThanOrEqual(200 + 1e-6);
    });
    for (const [i, a] of found.entries()) {
      for (const b of found.slice(i + 1)) {
        const apart = a.x + a.width <= b.x + 1e-6 || b.x + b.width <= a.x + 1e-6 || a.y + a.height <= b.y + 1e-6 || b.y + b.height <= a.y + 1e-6;
        expect(apart).toBe(true);
      }
    }
  });

  it("of nothing is nothing", () => {
    expect(treemap([], 10, 10)).toEqual([]);
    expect(treemap([0, 0], 10, 10)).toEqual([]);
  });
});
