/** The documents of the routes below `paimon/api`.  Unknown is `null`, never 0; times are ISO 8601, sizes bytes. */

export interface Run {
  dag_id: string;
  task_id: string | null;
  run_id: string | null;
  map_index: number | null;
}

export type Health = "ok" | "due" | "bad" | "unknown";
export type Severity = "info" | "warning" | "error";

export interface Badge {
  code: string;
  text: string;
  severity: Severity;
}

export interface Variant {
  label: string;
  uri: string;
  last_event_at: string | null;
}

/** A table as the list shows it. */
export interface Line {
  uri: string;
  catalog: string;
  database: string;
  name: string;
  kind: "primary-key" | "append" | "unknown";
  rows: number | null;
  bytes: number | null;
  files: number | null;
  small_files: number | null;
  partitions: number | null;
  snapshot_id: number | null;
  updated_at: string | null;
  freshness_s: number | null;
  last_writer: { user: string | null; by: Run | null; at: string | null } | null;
  health: Health;
  badges: Badge[];
  next_maintenance: { action: string; reason: string } | null;
  variants: Variant[];
  events_24h: number | null;
  /** When its database was collected last; `null` where no task says so. */
  collected_at: string | null;
  /** What the limits of the collector left out. */
  cut?: { snapshots?: { from: number; to: number } };
}

export interface TableList {
  total: number;
  databases: string[];
  collected_at: string | null;
  collector: { dag_id: string | null; table: string; conn_id: string } | null;
  /** What kept the page from reading what is collected. */
  collector_error: string | null;
  /** Whether the page has looked for it yet. */
  collector_known: boolean;
  tables: Line[];
}

export interface Overview {
  tables: number | null;
  rows: number | null;
  bytes: number | null;
  files: number | null;
  due: number | null;
  bad: number | null;
  stale: number | null;
  events_24h: number | null;
  collected_at: string | null;
}

export interface Field {
  id: number;
  name: string;
  type: string;
  nullable: boolean;
  comment: string | null;
}

export interface QualityResult {
  name: string;
  passed: boolean;
  rows_failed: number | null;
  at: string | null;
  by: Run | null;
}

export interface Lineage {
  writers: Run[];
  readers: Run[];
  upstream: string[];
  downstream: string[];
  columns: { to: string; from: { uri: string; column: string }[] }[];
}

/** Where the right to see rows comes from; of its Dags those that the viewer may read. */
export interface RowsRight {
  source: "configuration" | "creation" | "several" | "every";
  reason: string;
  dags: string[];
}

export interface TableDocument extends Line {
  comment: string | null;
  primary_key: string[];
  partition_by: string[];
  merge_engine: string | null;
  changelog_producer: string | null;
  bucket: string | number | null;
  format: string | null;
  fields: Field[];
  lineage: Lineage;
  quality: QualityResult[];
  asset_id: number | null;
  may_read_rows: boolean;
  rows_right: RowsRight;
  read_it: { python: string; sql: string; spark: string };
}

export type CommitKind = "APPEND" | "COMPACT" | "OVERWRITE" | "ANALYZE";

export interface Snapshot {
  id: number;
  at: string | null;
  kind: CommitKind;
  operation: string | null;
  user: string | null;
  identifier: number | string | null;
  by: Run | null;
  rows_added: number | null;
  rows_deleted: number | null;
  rows: number | null;
  bytes: number | null;
  files_added: number | null;
  files_deleted: number | null;
  files: number | null;
  schema_id: number | null;
  watermark: string | number | null;
  tags: string[];
  properties: Record<string, unknown> | null;
}

export interface Snapshots {
  total: number;
  snapshots: Snapshot[];
}

export interface BucketChange {
  partition: string;
  bucket: number;
  files_added: number | null;
  files_deleted: number | null;
  rows_added: number | null;
  rows_deleted: number | null;
  bytes_added: number | null;
  bytes_deleted: number | null;
}

export interface SnapshotDocument extends Snapshot {
  by_bucket: BucketChange[] | null;
}

export interface SchemaChange {
  kind: "add" | "drop" | "rename" | "type" | "option" | "comment" | "order";
  column: string | null;
  before: string | null;
  after: string | null;
}

export interface Comparison {
  from: Snapshot;
  to: Snapshot;
  rows: number | null;
  bytes: number | null;
  files: number | null;
  schema_changes: SchemaChange[];
  by_partition: { partition: string; rows: number | null; bytes: number | null; files: number | null }[] | null;
}

export interface History {
  at: string[];
  rows: (number | null)[];
  bytes: (number | null)[];
  files: (number | null)[];
}

export interface Level {
  level: number;
  files: number;
  bytes: number;
  rows: number;
}

export interface Bucket {
  partition: string;
  bucket: number;
  levels: Level[];
  sorted_runs: number;
  read_amplification: number;
}

export interface Levels {
  buckets: Bucket[];
  total: number;
}

export interface Partition {
  values: Record<string, string | null>;
  rows: number | null;
  bytes: number | null;
  files: number | null;
  small_files: number | null;
  written_at: string | null;
  heat: number | null;
}

export interface Partitions {
  total: number;
  partitions: Partition[];
}

export interface Schemas {
  schemas: { id: number; at: string | null; changes: SchemaChange[] }[];
}

export interface OptionLine {
  key: string;
  value: string | null;
  default: string | null;
  set: boolean;
  does: string | null;
}

export interface Options {
  options: OptionLine[];
}

export interface Refs {
  tags: { name: string; snapshot_id: number | null; at: string | null; expires_at: string | null }[];
  branches: { name: string; created_at: string | null; from_snapshot: number | null }[];
  consumers: { name: string; next_snapshot: number | null; lag_snapshots: number | null; lag_s: number | null }[];
}

export interface MaintenanceRun {
  at: string | null;
  action: string;
  by: Run | null;
  seconds: number | null;
  files_before: number | null;
  files_after: number | null;
  bytes_before: number | null;
  bytes_after: number | null;
  rows_written: number | null;
  snapshots_deleted: number | null;
}

export interface Maintenance {
  runs: MaintenanceRun[];
}

export interface Sample {
  columns: { name: string; type: string }[];
  rows: (string | null)[][];
  snapshot_id: number | null;
}

export interface Parameter {
  name: string;
  type: "string" | "integer" | "boolean" | "datetime";
  required: boolean;
  does: string | null;
  /** What it may be; empty when anything of its type may be said. */
  choices?: string[];
}

export interface Action {
  action: string;
  title: string;
  parameters: Parameter[];
}

export interface Actions {
  dag_id: string | null;
  /** The task that returns the result. */
  task_id?: string;
  actions: Action[];
}

export interface ErrorDocument {
  error: { kind: string; message: string; facts?: Record<string, unknown> };
}

/** What a table is to a Dag or a task: `line` is null until the next pass of the server. */
export interface TableTie {
  uri: string;
  line: Line | null;
  roles: ("writes" | "reads" | "starts")[];
  tasks: string[];
}

export interface Deed {
  uri: string;
  at: string | null;
  by: Run;
  action: string | null;
  snapshot_id: number | null;
  rows_written: number | null;
}

/** The tables of a Dag, a task or a run, and what was done to them, newest first. */
export interface Work {
  total: number;
  tables: TableTie[];
  done: Deed[];
}

/** The table behind one of Airflow's assets. */
export interface AssetTable {
  uri: string;
  label: string;
  line: Line | null;
  events: { at: string | null; by: Run | null; snapshot_id: number | null }[];
}
