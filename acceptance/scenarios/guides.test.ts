// The snippets of the README and the guides, run in order as a reader would paste them, in a world with a
// real opencode whose model is scripted. Those in shell are run by a user with an empty home; those in
// TypeScript are one program, which the compiler checks first.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { makeCleanUser } from "@hawser/testkit/clean-user.ts";
import { makeHawserCommand, type HawserCommand } from "@hawser/testkit/hawser-command.ts";
import { startPostgres } from "@hawser/testkit/postgres.ts";
import { scriptOf, snippetsOf } from "../guide-snippets.ts";
import { runProgram } from "../run-program.ts";
import { scenario, useWorld } from "../scenario.ts";
import { warmUp } from "../session-steps.ts";

/** Snippets that no test runs, by document. A number here may only become smaller. */
const notRun: Record<string, number> = {
  "README.md": 2,
  "docs/guide/access.md": 1,
  "docs/guide/backup.md": 2,
  "docs/guide/calling.md": 1,
  "docs/guide/cli.md": 3,
  "docs/guide/client.md": 1,
  "docs/guide/hosts.md": 6,
  "docs/guide/operating.md": 6,
  "docs/guide/rotating-keys.md": 3,
  "docs/guide/sessions.md": 4,
  "docs/guide/up.md": 3,
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

let hawser: HawserCommand;
before(async () => (hawser = await makeHawserCommand()));
after(() => hawser[Symbol.dispose]());

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

scenario(
  "The TypeScript snippets of docs/guide/client.md are a program that compiles and works",
  [],
  async ({ world, caller }) => {
    await warmUp(caller, world.hosts[0]!.instanceId);
    const program = snippetsOf(read("docs/guide/client.md"), "ts").map(({ text }) => text);
    // Inside the repository, where the compiler and Node find the client.
    const folder = mkdtempSync(join(root, "acceptance/.guide-"));
    try {
      writeFileSync(join(folder, "guide.ts"), program.join("\n"));
      const settings = { extends: "../../tsconfig.json", include: ["guide.ts"] };
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
      const compiled = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], {
        encoding: "utf8",
      });
      assert.equal(compiled.status, 0, compiled.stdout);
      const { code, output } = await runProgram([join(folder, "guide.ts")], {
        HAWSER_URL: world.baseUrl,
        HAWSER_KEY: caller.key,
      });
      assert.equal(code, 0, output);
      assert.match(output, /There is no instance with this id/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test(`Every shell snippet of ${operatorGuides.join(" and ")} works as it stands`, async () => {
  await using cluster = await startPostgres();
  // The addresses in the guides have no port.
  await using reader = startOperator({ PGPORT: String(cluster.port) });
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
  for (const snippet of snippetsOf(document).filter((each) => each.notRun === undefined)) {
    place("snippet.sh", scriptOf(snippet, ".snippet-state"));
    const { code, output } = await reader.run("bash snippet.sh");
    assert.equal(code, 0, `${path}:${snippet.line}\n${snippet.text}\n${output}`);
  }
}

const path = "/usr/local/bin:/usr/bin:/bin";

/** A user with an empty home, who has installed the command hawser. */
async function startReader(environment: Record<string, string>): Promise<Reader> {
  const user = await makeCleanUser();
  return {
    home: user.home,
    run: (line) => user.run(line, { PATH: `${hawser.directory}:${path}`, ...environment }),
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
