import { useLayoutEffect, useRef, useState, type RefObject } from "react";
import { Link } from "react-router-dom";

import type { Lineage, Run } from "../api/types";
import { runPath } from "../parts/bits";
import { tableName } from "../text/format";

interface Node {
  key: string;
  text: string;
  to: string;
  kind: "table" | "dag";
}

/** From left to right: tables it is made of, tasks that write it, the table, tasks that read it, tables made of it. */
export function LineageGraph({ uri, lineage, link }: {
  uri: string;
  lineage: Lineage;
  link: (changes: { table: string }) => string;
}) {
  const table = (of: string): Node => ({ key: of, text: tableName(of), to: link({ table: of }), kind: "table" });
  const columns: { title: string; nodes: Node[] }[] = [
    { title: "Made of", nodes: lineage.upstream.map(table) },
    { title: "Written by", nodes: runs(lineage.writers) },
    { title: "This table", nodes: [table(uri)] },
    { title: "Read by", nodes: runs(lineage.readers) },
    { title: "Used for", nodes: lineage.downstream.map(table) },
  ].filter((column) => column.nodes.length > 0);
  const box = useRef<HTMLDivElement>(null);
  const paths = useLines(box, columns.map((c) => c.nodes.length).join());
  return (
    <div className="pt-lineage" ref={box}>
      <svg className="pt-lineage-lines" aria-hidden="true">
        {paths.map((d, i) => (
          <path key={i} d={d} />
        ))}
      </svg>
      {columns.map((column) => (
        <div key={column.title} className="pt-lineage-column">
          <h4>{column.title}</h4>
          <ul>
            {column.nodes.map((node) => (
              <li key={node.key} data-node="" className={`pt-node pt-node--${node.kind}${node.key === uri ? " pt-node--this" : ""}`}>
                {node.key === uri ? <span>{node.text}</span> : <Link to={node.to}>{node.text}</Link>}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </div>
  );
}

function runs(given: readonly Run[]): Node[] {
  const byTask = new Map<string, Node>();
  for (const run of given) {
    const text = run.task_id === null ? run.dag_id : `${run.dag_id}.${run.task_id}`;
    byTask.set(text, { key: `run ${text}`, text, to: runPath(run), kind: "dag" });
  }
  return [...byTask.values()];
}

/** Curves between the boxes of neighbouring columns, measured after they are laid out. */
function useLines(box: RefObject<HTMLDivElement | null>, shape: string): string[] {
  const [paths, setPaths] = useState<string[]>([]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) {
      return;
    }
    const draw = () => setPaths(curves(element));
    draw();
    if (typeof ResizeObserver === "undefined") {
      return;
    }
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => observer.disconnect();
  }, [box, shape]);
  return paths;
}

function curves(element: HTMLElement): string[] {
  const origin = element.getBoundingClientRect();
  const columns = [...element.querySelectorAll(".pt-lineage-column")].map((column) =>
    [...column.querySelectorAll("[data-node]")].map((node) => node.getBoundingClientRect()),
  );
  const found: string[] = [];
  columns.slice(1).forEach((right, i) => {
    for (const a of columns[i] ?? []) {
      for (const b of right) {
        const [x1, y1] = [a.right - origin.left, a.top + a.height / 2 - origin.top];
        const [x2, y2] = [b.left - origin.left, b.top + b.height / 2 - origin.top];
        const middle = (x1 + x2) / 2;
        found.push(`M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`);
      }
    }
  });
  return found;
}
