// Accounts and repositories, read through the real `gh` from a stand-in for GitHub.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { enterpriseHost, startGithub, type Github } from "@hawser/testkit/github.ts";
import { findProgram } from "../find-program.ts";
import { createCodeHosting } from "./code-hosting.ts";

const token = "gho_ofAdaAndNobodyElse";
const place = mkdtempSync(join(tmpdir(), "hawser-hosting-"));
let github: Github;

before(async () => {
  github = await startGithub({
    token,
    repositories: [
      { name: "ada/notes" },
      { name: "ada/empty", empty: true },
      { name: "acme/API", private: true, affiliation: "organization_member" },
      { name: "bob/lib", private: true, affiliation: "collaborator" },
    ],
  });
});

after(async () => {
  await github?.[Symbol.asyncDispose]();
  rmSync(place, { recursive: true, force: true });
});

/** A host's environment: a home of its own, and a client that counts how often it runs. */
function makeHome(name: string, own: Record<string, string> = {}) {
  const home = join(place, name);
  const runs = join(home, "runs");
  mkdirSync(join(home, "bin"), { recursive: true });
  mkdirSync(join(home, ".config", "gh"), { recursive: true });
  const gh = findProgram("gh", process.env["PATH"])!.path;
  const counting = `#!/bin/sh\necho "$*" >> ${runs}\nexec ${gh} "$@"\n`;
  writeFileSync(join(home, "bin", "gh"), counting, { mode: 0o755 });
  const path = [join(home, "bin"), process.env["PATH"]].join(delimiter);
  return {
    environment: { HOME: home, TMPDIR: home, PATH: path, ...github.environment, ...own },
    runs: () => (existsSync(runs) ? readFileSync(runs, "utf8").trim().split("\n").length : 0),
    logIn: (host = "github.com", value = token) =>
      writeFileSync(
        join(home, ".config", "gh", "hosts.yml"),
        `${host}:\n    oauth_token: ${value}\n    user: ada\n    git_protocol: https\n`,
      ),
  };
}

const soon = () => AbortSignal.timeout(10_000);
const everything = { query: "", limit: 100 };

test("a client that is missing or cannot be run is reported without an error", async () => {
  const { environment } = makeHome("absent");
  const bin = join(place, "no-programs");
  mkdirSync(join(bin, "gh"), { recursive: true });
  const hosting = createCodeHosting({ ...environment, PATH: bin });
  assert.deepEqual(await hosting.readFacts(), {
    codeHostingCli: { installed: false, loggedIn: false, account: null },
  });
  assert.deepEqual(await hosting.list(everything, soon()), {
    repositories: [],
    reason: "cli_not_installed",
  });
});

test("a login is noticed, and the client is not run again while nothing changed", async () => {
  const home = makeHome("login");
  const hosting = createCodeHosting(home.environment);
  const loggedOut = { installed: true, loggedIn: false, account: null };
  assert.deepEqual(await hosting.readFacts(), { codeHostingCli: loggedOut });
  const before = home.runs();
  await hosting.readFacts();
  assert.equal(home.runs(), before, "nothing changed");
  assert.equal((await hosting.list(everything, soon())).reason, "not_logged_in");

  home.logIn();
  const loggedIn = { codeHostingCli: { installed: true, loggedIn: true, account: "ada" } };
  const asked = home.runs();
  assert.deepEqual(await hosting.readFacts(), loggedIn);
  assert.deepEqual(await hosting.readFacts(), loggedIn);
  assert.equal(home.runs() - asked, 1);

  home.logIn("github.com", "gho_revoked");
  assert.deepEqual(await hosting.readFacts(), { codeHostingCli: loggedOut });
});

test("a login that ended at the server is noticed when a listing fails", async () => {
  const home = makeHome("revoked");
  home.logIn("github.com", "gho_forAWhile");
  github.tokens.add("gho_forAWhile");
  const hosting = createCodeHosting(home.environment);
  assert.equal((await hosting.readFacts()).codeHostingCli?.loggedIn, true);
  github.tokens.delete("gho_forAWhile");
  assert.equal((await hosting.list(everything, soon())).reason, "not_logged_in");
  assert.equal((await hosting.readFacts()).codeHostingCli?.loggedIn, false);
});

test("an enterprise's server is asked when the client is set to it", async () => {
  const home = makeHome("enterprise");
  home.logIn(enterpriseHost);
  const from = github.requests.length;
  const hosting = createCodeHosting(home.environment);
  assert.equal((await hosting.readFacts()).codeHostingCli?.account, "ada");
  assert.equal((await hosting.list(everything, soon())).repositories.length, 4);
  const asked = github.requests.slice(from);
  assert.ok(asked.length > 0 && asked.every((line) => line.includes(enterpriseHost)));
});

test("own, organization's and shared repositories are listed, with what is known of each", async () => {
  const hosting = createCodeHosting(makeHome("list", { GH_TOKEN: token }).environment);
  assert.deepEqual(await hosting.list(everything, soon()), {
    reason: null,
    repositories: [
      { name: "ada/notes", private: false, defaultBranch: "main" },
      { name: "ada/empty", private: false, defaultBranch: null },
      { name: "acme/API", private: true, defaultBranch: "main" },
      { name: "bob/lib", private: true, defaultBranch: "main" },
    ],
  });
  const named = async (query: string, limit = 100) =>
    (await hosting.list({ query, limit }, soon())).repositories.map(({ name }) => name);
  assert.deepEqual(await named("api"), ["acme/API"]);
  assert.deepEqual(await named("ADA/"), ["ada/notes", "ada/empty"]);
  assert.deepEqual(await named("nothing"), []);
  assert.deepEqual(await named("", 2), ["ada/notes", "ada/empty"]);
});

test("a failure is reported by its kind, without the server's words or the token", async () => {
  const home = makeHome("failing", { GH_TOKEN: token });
  const hosting = createCodeHosting(home.environment);
  github.fail(502);
  try {
    const error = await hosting.list(everything, soon()).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof Error);
    assert.match(error.message, /status 502/);
    const { codeHostingCli, warnings } = await hosting.readFacts();
    assert.deepEqual(codeHostingCli, { installed: true, loggedIn: false, account: null });
    assert.equal(warnings?.[0]?.code, "code_hosting_unreachable");
    const told = `${error.message} ${JSON.stringify(warnings)}`;
    assert.doesNotMatch(told, /inner workings|gho_/);
  } finally {
    github.fail(undefined);
  }
  assert.equal((await hosting.readFacts()).codeHostingCli?.loggedIn, true, "a failure is not kept");
});

test("a listing that takes too long ends at its deadline", async () => {
  const hosting = createCodeHosting(makeHome("late", { GH_TOKEN: token }).environment);
  await assert.rejects(hosting.list(everything, AbortSignal.timeout(20)), /no answer in time/);
  await assert.rejects(hosting.list(everything, AbortSignal.abort()), /no answer in time/);
});

test("a repository's address is the one the client prefers, with the client's own credentials", async () => {
  const home = makeHome("access");
  home.logIn();
  const hosting = createCodeHosting(home.environment);
  const access = await hosting.accessTo("acme/API", soon());
  assert.equal(access.url, "https://github.com/acme/API.git");
  assert.deepEqual(access.settings[0], ["credential.https://github.com.helper", ""]);
  assert.match(access.settings[1]![1], /^!'\/.*\/gh' auth git-credential$/);

  const config = join(home.environment.HOME, ".config", "gh", "hosts.yml");
  writeFileSync(config, readFileSync(config, "utf8").replace("https", "ssh"));
  assert.deepEqual(await hosting.accessTo("acme/API", soon()), {
    url: "git@github.com:acme/API.git",
    settings: [],
    environment: {},
  });
  await assert.rejects(hosting.accessTo("acme/none", soon()), /cannot see this repository/);
});
