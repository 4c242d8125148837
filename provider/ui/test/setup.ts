import { afterEach, vi } from "vitest";

afterEach(async () => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
  if (typeof document !== "undefined") {
    const { cleanup } = await import("@testing-library/react");
    cleanup();
    localStorage.clear();
  }
});
