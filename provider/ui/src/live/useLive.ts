import { useEffect, useReducer } from "react";

import { address } from "../api/client";
import { reduce, START, type ChangesEvent, type LiveEvent, type LiveState, type StateEvent } from "./reducer";

/** The stream of a table while the component is there; leaving it closes the connection. */
export function useLive(query: { uri: string; by: string; value: string; agg: string }): [LiveState, (event: LiveEvent) => void] {
  const [state, tell] = useReducer(reduce, START);
  const { uri, by, value, agg } = query;
  useEffect(() => {
    const source = new EventSource(address("paimon/api/table/live", { uri, by, value, agg }));
    source.addEventListener("open", () => tell({ type: "open" }));
    source.addEventListener("state", (event) => {
      const found = parsed(event) as StateEvent | null;
      if (found !== null) {
        tell({ type: "state", state: found });
      }
    });
    source.addEventListener("changes", (event) => {
      const found = parsed(event) as ChangesEvent | null;
      if (found !== null) {
        tell({ type: "changes", changes: found });
      }
    });
    source.addEventListener("gone", (event) => {
      const found = parsed(event) as { error?: { message?: string } } | null;
      tell({ type: "gone", message: found?.error?.message ?? "The table is gone." });
      source.close();
    });
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) {
        tell({ type: "gone", message: "The server refused the stream. It may be full, or your session has ended." });
      } else {
        tell({ type: "lost" });
      }
    });
    return () => source.close();
  }, [uri, by, value, agg]);
  return [state, tell];
}

function parsed(event: Event): unknown {
  try {
    return JSON.parse((event as MessageEvent<string>).data);
  } catch {
    return null;
  }
}
