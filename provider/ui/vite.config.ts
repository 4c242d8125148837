import { defineConfig } from "vitest/config";

/** What Airflow's own page already has: bundling it twice would make two Reacts in one page. */
const HOST = {
  react: "React",
  "react/jsx-runtime": "ReactJSXRuntime",
  "react-router-dom": "ReactRouterDOM",
};

export default defineConfig({
  build: {
    outDir: "../paimon_provider/pages/ui/dist",
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    lib: { entry: "src/main.tsx", formats: ["iife"], name: "PaimonTables", fileName: () => "tables.js" },
    rolldownOptions: { external: Object.keys(HOST), output: { globals: HOST } },
  },
  test: {
    // a file that needs a page says so in its first line: making one costs more than most tests
    environment: "node",
    include: ["test/**/*.test.{ts,tsx}"],
    setupFiles: ["test/setup.ts"],
    maxWorkers: 2,
    // a machine that has much to do is slow, and no test here is about time
    testTimeout: 60_000,
  },
});
