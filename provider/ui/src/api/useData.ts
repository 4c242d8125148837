import { useCallback, useEffect, useRef, useState } from "react";

import { ask, RequestFailed } from "./client";

const BUSY = 503;
const AGAIN_MS = 3000;

export interface Data<T> {
  data: T | null;
  error: RequestFailed | null;
  loading: boolean;
  reload: () => void;
}

/**
 * The document of a route, asked again when `query` changes, every `everyS` seconds while the page is seen, and soon
 * after the server has said that it is busy.
 * What was there stays until the new one has come, so that a page does not flicker; `path` null asks nothing.
 */
export function useData<T>(
  path: string | null,
  query: Record<string, string | number | null>,
  everyS = 0,
): Data<T> {
  const key = path === null ? "" : `${path}?${JSON.stringify(query)}`;
  const [state, setState] = useState<{ key: string; data: T | null; error: RequestFailed | null; loading: boolean }>({
    key: "",
    data: null,
    error: null,
    loading: true,
  });
  const [turn, setTurn] = useState(0);
  const latest = useRef({ path, query });
  useEffect(() => {
    latest.current = { path, query };
  });

  useEffect(() => {
    const asked = latest.current;
    if (key === "" || asked.path === null) {
      return;
    }
    const controller = new AbortController();
    ask<T>(asked.path, asked.query, controller.signal)
      .then((data) => setState({ key, data, error: null, loading: false }))
      .catch((cause: unknown) => {
        if (controller.signal.aborted) {
          return;
        }
        const error = cause instanceof RequestFailed ? cause : new RequestFailed(0, "unknown", String(cause));
        setState((was) => ({ key, data: was.key === key ? was.data : null, error, loading: false }));
      });
    return () => controller.abort();
  }, [key, turn]);

  useEffect(() => {
    if (everyS <= 0 || key === "") {
      return;
    }
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") {
        setTurn((n) => n + 1);
      }
    }, everyS * 1000);
    return () => clearInterval(timer);
  }, [everyS, key]);

  // the server has just started and still reads what it shows
  const busy = state.key === key && state.error?.status === BUSY;
  useEffect(() => {
    if (!busy) {
      return;
    }
    const timer = setTimeout(() => setTurn((n) => n + 1), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [busy, turn]);

  const reload = useCallback(() => setTurn((n) => n + 1), []);
  const current = state.key === key;
  return {
    data: state.data,
    error: current ? state.error : null,
    loading: key !== "" && (!current || state.loading),
    reload,
  };
}
