import { address, request, RequestFailed } from "./client";

/** Airflow's own REST API, with the session and so the rights of the user. */

export interface RunState {
  dag_run_id: string;
  state: string;
}

export interface TaskState {
  task_id: string;
  state: string | null;
  map_index: number;
}

const part = encodeURIComponent;

export const airflow = {
  async paused(dagId: string): Promise<boolean> {
    const dag = await request<{ is_paused: boolean }>(address(`api/v2/dags/${part(dagId)}`));
    return dag.is_paused;
  },

  start(dagId: string, conf: Record<string, unknown>): Promise<RunState> {
    return request<RunState>(address(`api/v2/dags/${part(dagId)}/dagRuns`), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ logical_date: null, conf }),
    });
  },

  run(dagId: string, runId: string, signal: AbortSignal): Promise<RunState> {
    return request<RunState>(address(`api/v2/dags/${part(dagId)}/dagRuns/${part(runId)}`), { signal });
  },

  async tasks(dagId: string, runId: string): Promise<TaskState[]> {
    const url = address(`api/v2/dags/${part(dagId)}/dagRuns/${part(runId)}/taskInstances`);
    return (await request<{ task_instances: TaskState[] }>(url)).task_instances;
  },

  /** What the task returned; `undefined` if it returned nothing. */
  async returned(dagId: string, runId: string, taskId: string, mapIndex: number): Promise<unknown> {
    const path = `api/v2/dags/${part(dagId)}/dagRuns/${part(runId)}/taskInstances/${part(taskId)}/xcomEntries/return_value`;
    try {
      const entry = await request<{ value: unknown }>(address(path, { map_index: mapIndex, deserialize: false }));
      return parsed(entry.value);
    } catch (cause) {
      if (cause instanceof RequestFailed && cause.status === 404) {
        return undefined;
      }
      throw cause;
    }
  },
};

function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^[[{]/.test(value)) {
    return value;
  }
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
