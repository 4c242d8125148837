import type { TableDocument } from "../api/types";

/** Which columns make good bars.  Pure. */

const TEXT = /^(STRING|VARCHAR|CHAR|BOOLEAN)/i;
const NUMBER = /^(TINYINT|SMALLINT|INT|INTEGER|BIGINT|FLOAT|DOUBLE|DECIMAL)/i;

/** Names that most often have few values. */
const GROUPS = /country|region|city|state|status|type|kind|category|channel|currency/i;

export interface Choices {
  by: string[];
  value: string[];
}

export function choices(table: Pick<TableDocument, "fields" | "primary_key">): Choices {
  const names = (fits: RegExp) => table.fields.filter((f) => fits.test(f.type)).map((f) => f.name);
  const text = names(TEXT);
  const number = names(NUMBER);
  return { by: [...text, ...number.filter((n) => !text.includes(n))], value: number };
}

/** What to group by and add up when the address does not say: a column of few values, as far as names tell, and a number that is no key. */
export function defaults(table: Pick<TableDocument, "fields" | "primary_key" | "partition_by">): {
  by: string;
  value: string;
  agg: "sum" | "count";
} {
  const found = choices(table);
  const key = new Set(table.primary_key);
  const text = table.fields.filter((f) => TEXT.test(f.type)).map((f) => f.name);
  const plain = text.filter((n) => !key.has(n) && !table.partition_by.includes(n));
  const by =
    plain.find((n) => GROUPS.test(n)) ??
    table.partition_by[0] ??
    plain[0] ??
    (table.primary_key.length === 1 ? text.find((n) => key.has(n)) : undefined) ??
    text[0] ??
    found.by[0] ??
    "";
  const value = found.value.find((n) => !key.has(n) && n !== by) ?? "";
  return { by, value, agg: value === "" ? "count" : "sum" };
}
