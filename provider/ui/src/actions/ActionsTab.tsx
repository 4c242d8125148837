import { useEffect, useRef, useState } from "react";

import { RequestFailed } from "../api/client";
import type { Action, Actions, TableDocument } from "../api/types";
import { useData } from "../api/useData";
import { Card, RunLink } from "../parts/bits";
import { Empty, Loaded } from "../parts/states";
import { useView } from "../state/query";
import { ActionForm } from "./ActionForm";
import { checked, type Arguments, type Texts } from "./arguments";
import { Document } from "./Document";
import { PausedDag, runAction, type Outcome, type Progress } from "./run";

const NOT_UNDONE = new Set(["rollback", "expire_snapshots"]);

/** Upkeep by hand: a preview first, then the same for real.  Airflow runs it with the rights of who asks. */
export function ActionsTab({ table }: { table: TableDocument }) {
  const actions = useData<Actions>("table/actions", { uri: table.uri });
  return (
    <Loaded of={actions}>
      {({ dag_id, actions: found }) =>
        dag_id === null || found.length === 0 ? (
          <Empty title="No Dag for actions is deployed">
            Actions are runs of a Dag. The page of the documentation “The page of tables” says how to add it.
          </Empty>
        ) : (
          <Chosen table={table} dagId={dag_id} actions={found} />
        )
      }
    </Loaded>
  );
}

function Chosen({ table, dagId, actions }: { table: TableDocument; dagId: string; actions: readonly Action[] }) {
  const [view, go] = useView();
  const action = actions.find((a) => a.action === view.action) ?? actions[0];
  return (
    <div className="pt-actions">
      <div className="pt-choice" role="radiogroup" aria-label="Action">
        {actions.map((a) => (
          <label key={a.action} className="pt-choice-one">
            <input type="radio" name="pt-action" checked={a === action} onChange={() => go({ action: a.action }, { replace: true })} />
            <span>
              <strong>{a.title}</strong>
              {table.next_maintenance?.action === a.action ? <span className="pt-badge pt-badge--warning">due</span> : null}
            </span>
          </label>
        ))}
      </div>
      {action === undefined ? null : <OneAction key={action.action} table={table} dagId={dagId} action={action} />}
    </div>
  );
}

type Phase =
  | { at: "form" }
  | { at: "running"; dry: boolean; progress: Progress | null }
  | { at: "done"; dry: boolean; outcome: Outcome; arguments: Arguments }
  | { at: "refused"; message: string };

function OneAction({ table, dagId, action }: { table: TableDocument; dagId: string; action: Action }) {
  const [texts, setTexts] = useState<Texts>({});
  const [phase, setPhase] = useState<Phase>({ at: "form" });
  const leaving = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    leaving.current = controller;
    return () => controller.abort();
  }, []);
  const given = checked(action.parameters, texts);
  const run = (dry: boolean, args: Arguments) => {
    const { signal } = leaving.current;
    setPhase({ at: "running", dry, progress: null });
    runAction(
      dagId,
      { action: action.action, table: table.uri, arguments: args, dry_run: dry },
      (progress) => setPhase({ at: "running", dry, progress }),
      signal,
    )
      .then((outcome) => setPhase({ at: "done", dry, outcome, arguments: args }))
      .catch((cause: unknown) => {
        if (!signal.aborted) {
          setPhase({ at: "refused", message: said(cause) });
        }
      });
  };
  const busy = phase.at === "running";
  return (
    <Card title={action.title} note={<>runs the Dag <RunLink run={{ dag_id: dagId, task_id: null, run_id: null, map_index: null }} /></>}>
      <ActionForm
        action={action}
        texts={texts}
        wrong={given.wrong}
        busy={busy}
        change={(name, text) => {
          setTexts((was) => ({ ...was, [name]: text }));
          setPhase({ at: "form" });
        }}
        preview={() => run(true, given.arguments)}
      />
      <div aria-live="polite">
        {phase.at === "running" ? <Running dagId={dagId} dry={phase.dry} progress={phase.progress} /> : null}
        {phase.at === "refused" ? (
          <div className="pt-note pt-note--error" role="alert">
            <strong>{phase.message}</strong>
          </div>
        ) : null}
        {phase.at === "done" ? (
          <Done
            dagId={dagId}
            action={action}
            dry={phase.dry}
            outcome={phase.outcome}
            confirm={() => run(false, phase.arguments)}
          />
        ) : null}
      </div>
    </Card>
  );
}

function said(cause: unknown): string {
  if (cause instanceof PausedDag) {
    return cause.message;
  }
  if (cause instanceof RequestFailed) {
    return cause.status === 403 ? "You may not start this Dag. Ask an administrator for the permission." : cause.message;
  }
  return String(cause);
}

function Running({ dagId, dry, progress }: { dagId: string; dry: boolean; progress: Progress | null }) {
  return (
    <p className="pt-running">
      <span className="pt-spinner" aria-hidden="true" />
      {dry ? "Preview" : "Action"}: {progress === null ? "starting" : progress.state}
      {progress === null ? null : (
        <>
          {" · "}
          <RunLink run={{ dag_id: dagId, task_id: null, run_id: progress.runId, map_index: null }} full />
        </>
      )}
    </p>
  );
}

function Done({ dagId, action, dry, outcome, confirm }: {
  dagId: string;
  action: Action;
  dry: boolean;
  outcome: Outcome;
  confirm: () => void;
}) {
  const well = outcome.state === "success";
  return (
    <section className={`pt-outcome pt-outcome--${well ? "ok" : "bad"}`} aria-label={dry ? "Preview" : "Result"}>
      <header className="pt-card-head">
        <h4>{well ? (dry ? "Preview: nothing is changed yet" : "Done") : "The run failed"}</h4>
        <RunLink run={{ dag_id: dagId, task_id: outcome.failed[0] ?? null, run_id: outcome.runId, map_index: null }} full />
      </header>
      {well ? null : <p>The log of the task says why. Open the run to read it.</p>}
      {outcome.documents.length === 0 && well ? <p className="pt-muted">The run returned nothing.</p> : null}
      {outcome.documents.map(({ task, value }) => (
        <Document key={task} value={value} />
      ))}
      {well && dry ? (
        <div className="pt-toolbar">
          <button type="button" className={`pt-button ${NOT_UNDONE.has(action.action) ? "pt-button--danger" : "pt-button--main"}`} onClick={confirm}>
            {action.title}: do it now
          </button>
          {NOT_UNDONE.has(action.action) ? <span className="pt-muted">This cannot be undone.</span> : null}
        </div>
      ) : null}
    </section>
  );
}
