import { airflow, type TaskState } from "../api/airflow";

/** A run of the Dag that does actions: started with the user's own rights, waited for, and what it returned. */

export interface Request {
  action: string;
  table: string;
  arguments: Record<string, string | number | boolean>;
  dry_run: boolean;
}

export interface Outcome {
  runId: string;
  state: "success" | "failed";
  /** What each task returned. */
  documents: { task: string; value: unknown }[];
  failed: string[];
}

export interface Progress {
  runId: string;
  state: string;
}

const EVERY_MS = 1000;

/** Throws `RequestFailed` when Airflow refuses, `PausedDag` when the run would wait for ever. */
export async function runAction(
  dagId: string,
  conf: Request,
  tell: (progress: Progress) => void,
  signal: AbortSignal,
  everyMs = EVERY_MS,
): Promise<Outcome> {
  if (await airflow.paused(dagId)) {
    throw new PausedDag(dagId);
  }
  let run = await airflow.start(dagId, { ...conf });
  tell({ runId: run.dag_run_id, state: run.state });
  while (run.state !== "success" && run.state !== "failed") {
    await pause(everyMs, signal);
    run = await airflow.run(dagId, run.dag_run_id, signal);
    tell({ runId: run.dag_run_id, state: run.state });
  }
  const tasks = await airflow.tasks(dagId, run.dag_run_id);
  const documents: Outcome["documents"] = [];
  for (const task of tasks.filter((t) => t.state === "success")) {
    const value = await airflow.returned(dagId, run.dag_run_id, task.task_id, task.map_index);
    if (value !== undefined && value !== null) {
      documents.push({ task: task.task_id, value });
    }
  }
  return {
    runId: run.dag_run_id,
    state: run.state,
    documents,
    failed: tasks.filter(isBad).map((t) => t.task_id),
  };
}

function isBad(task: TaskState): boolean {
  return task.state === "failed" || task.state === "upstream_failed";
}

export class PausedDag extends Error {
  constructor(readonly dagId: string) {
    super(`The Dag ${dagId} is paused, so a run would wait for ever. Unpause it, then try again.`);
    this.name = "PausedDag";
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new DOMException("left", "AbortError"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
