import { useEffect, useState, type ReactNode } from "react";
import { useLocation, useNavigate } from "react-router-dom";

let settled = false;

/**
 * Shows its children once Airflow keeps them.
 *
 * Airflow first shows a component of a plugin that it loads behind `lazy`.  With the next change of the address it
 * takes the component from `globalThis` instead, which is another one to React: everything typed is lost, and the
 * focus with it.  So the address is set to what it is, once, before there is anything to lose.
 */
export function Settled({ children }: { children: ReactNode }) {
  const location = useLocation();
  const navigate = useNavigate();
  const [begun] = useState({ settled, key: location.key });
  useEffect(() => {
    if (!settled) {
      settled = true;
      void navigate(location, { replace: true, state: location.state as unknown });
    }
  }, [location, navigate]);
  return begun.settled || location.key !== begun.key ? children : null;
}

/** For tests: as if the page had been loaded anew. */
export function loadedAnew(): void {
  settled = false;
}
