// The shell snippets of the README and the guides, run in order as a reader would paste them: by a
// user with an empty home, in a world with a real opencode whose model is scripted.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { makeCleanUser } from "@hawser/testkit/clean-user.ts";
import { startPostgres } from "@hawser/testkit/postgres.ts";
import { scriptOf, snippetsOf } from "../guide-snippets.ts";
import { scenario, useWorld } from "../scenario.ts";

/** Snippets that no test runs, by document. A number here may only become smaller. */
const notRun: Record<string, number> = {
  "README.md": 2,
  "docs/guide/calling.md": 1,
  "docs/guide/hosts.md": 5,
  "docs/guide/operating.md": 6,
  "docs/guide/rotating-keys.md": 3,
  "docs/guide/sessions.md": 3,
};

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const guides = readdirSync(join(root, "docs/guide"))
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/guide/${name}`)
  .sort();
/**
 * For operators, in the order of reading. They need a PostgreSQL of their own instead of a world, and the
 * commands of the checkout.
 */
const operatorGuides = ["docs/guide/operating.md", "docs/guide/rotating-keys.md"];

useWorld({ hosts: 1, agents: true, releases: true });

for (const path of ["README.md", ...guides]) {
  test(`${path} has exactly the known number of snippets that are not run`, () => {
    const marked = snippetsOf(read(path)).filter((snippet) => snippet.notRun !== undefined);
    assert.equal(marked.length, notRun[path] ?? 0, marked.map(({ text }) => text).join("\n"));
  });
}

for (const path of ["README.md", ...guides].filter((each) => !operatorGuides.includes(each))) {
  scenario(`Every shell snippet of ${path} works as it stands`, [], async ({ world }) => {
    await using reader = await startReader({
      HAWSER_URL: world.baseUrl,
      HAWSER_KEY: world.caller.key,
    });
    await runSnippets(path, read(path), reader);
  });
}

test(`Every shell snippet of ${operatorGuides.join(" and ")} works as it stands`, async () => {
  await using cluster = await startPostgres();
  await using reader = startOperator({
    PGHOST: "127.0.0.1",
    PGPORT: String(cluster.port),
    PGUSER: "postgres",
    PGDATABASE: "postgres",
  });
  for (const path of operatorGuides) await runSnippets(path, read(path), reader);
});

test("a snippet with a command that fails is found, whatever follows the command", async () => {
  await using reader = await startReader({});
  const document = "```sh\nNAME=x\n```\n\n```sh\n[ $NAME = x ]\nfalse | cat\necho\n```\n";
  await assert.rejects(runSnippets("planted.md", document, reader), /planted\.md:6/);
});

interface Reader extends AsyncDisposable {
  home: string;
  run: (line: string) => Promise<{ code: number | null; output: string }>;
}

async function runSnippets(path: string, document: string, reader: Reader): Promise<void> {
  const place = (file: string, text: string) => {
    mkdirSync(dirname(join(reader.home, file)), { recursive: true });
    writeFileSync(join(reader.home, file), text);
  };
  place("docs/guide/call.sh", read("docs/guide/call.sh"));
  for (const snippet of snippetsOf(document).filter((each) => each.notRun === undefined)) {
    place("snippet.sh", scriptOf(snippet, ".snippet-state"));
    const { code, output } = await reader.run("bash snippet.sh");
    assert.equal(code, 0, `${path}:${snippet.line}\n${snippet.text}\n${output}`);
  }
}

/** A user with an empty home. */
async function startReader(environment: Record<string, string>): Promise<Reader> {
  const user = await makeCleanUser();
  return {
    home: user.home,
    run: (line) => user.run(line, environment),
    [Symbol.asyncDispose]: () => user[Symbol.asyncDispose](),
  };
}

/** The user of this test, in an empty directory, with the checkout's commands on the path. */
function startOperator(environment: Record<string, string>): Reader {
  const home = mkdtempSync(join(tmpdir(), "hawser-operator-"));
  const PATH = `${join(root, "node_modules/.bin")}:${process.env["PATH"]}`;
  return {
    home,
    run(line) {
      const { status, stdout, stderr } = spawnSync("sh", ["-c", line], {
        cwd: home,
        env: { HOME: home, PATH, ...environment },
        encoding: "utf8",
        timeout: 60_000,
      });
      return Promise.resolve({ code: status, output: `${stdout}${stderr}` });
    },
    [Symbol.asyncDispose]: () => Promise.resolve(rmSync(home, { recursive: true, force: true })),
  };
}
