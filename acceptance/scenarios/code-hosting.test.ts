// A host's code-hosting client: the real `gh` with a stand-in for GitHub.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { makeGithubHome } from "@hawser/testkit/github-home.ts";
import { startGithub, type Github } from "@hawser/testkit/github.ts";
import type { TestHost } from "@hawser/testkit/host.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, useWorld, type Context } from "../scenario.ts";

useWorld({ nats: 1 });

const token = "gho_acceptanceOfAda";
const place = mkdtempSync(join(tmpdir(), "hawser-code-hosting-"));
let github: Github;

before(async () => {
  github = await startGithub({
    token,
    repositories: [
      { name: "ada/notes" },
      { name: "acme/API", private: true, affiliation: "organization_member" },
      { name: "acme/web", private: true, affiliation: "organization_member" },
      { name: "bob/lib", affiliation: "collaborator" },
      { name: "ada/empty", empty: true },
      ...Array.from({ length: 250 }, (_, i) => ({ name: `ada/many-${i}`, onlyListed: true })),
    ],
  });
});

after(async () => {
  await github?.[Symbol.asyncDispose]();
  removeDirectory(place);
});

let loggedIn: Promise<TestHost> | undefined;
const hostWithLogin = ({ world }: Context) =>
  (loggedIn ??= world.addHost({
    environment: makeGithubHome(github, join(place, "ada"), { token }),
  }));

scenario(
  "An instance shows whether its client is installed and logged in, and the account",
  ["record.instance.codeHostingCli"],
  async (context) => {
    const { caller, world } = context;
    const { instanceId } = await hostWithLogin(context);
    const detail = await caller.refresh_instance({ instanceId });
    assert.deepEqual(detail.codeHostingCli, { installed: true, loggedIn: true, account: "ada" });
    const asked = github.requests.length;
    assert.equal((await caller.refresh_instance({ instanceId })).codeHostingCli?.account, "ada");
    assert.equal(github.requests.length, asked, "nothing changed, so nobody was asked");

    const loggedOut = await world.addHost({
      environment: makeGithubHome(github, join(place, "nobody")),
    });
    const shown = await caller.refresh_instance({ instanceId: loggedOut.instanceId });
    assert.deepEqual(shown.codeHostingCli, { installed: true, loggedIn: false, account: null });
  },
);

scenario(
  "Every repository that the account can reach is listed, with its visibility and branch",
  ["list_github_repos.result", "list_github_repos.access"],
  async (context) => {
    const { instanceId } = await hostWithLogin(context);
    const { repositories, reason } = await context.caller.list_github_repos({ instanceId });
    assert.equal(reason, null);
    assert.equal(repositories.length, 100, "as many as without a limit");
    assert.deepEqual(repositories.slice(0, 5), [
      { name: "ada/notes", private: false, defaultBranch: "main" },
      { name: "acme/API", private: true, defaultBranch: "main" },
      { name: "acme/web", private: true, defaultBranch: "main" },
      { name: "bob/lib", private: false, defaultBranch: "main" },
      { name: "ada/empty", private: false, defaultBranch: null },
    ]);
    const all = await context.caller.list_github_repos({ instanceId, limit: 500 });
    assert.equal(new Set(all.repositories.map(({ name }) => name)).size, 255);
  },
);

scenario(
  "A query keeps the repositories whose name contains it in any case, and a limit caps the list",
  ["list_github_repos.query.filter", "list_github_repos.limit.cap"],
  async (context) => {
    const { instanceId } = await hostWithLogin(context);
    const names = async (rest: { query?: string; limit?: number }) =>
      (await context.caller.list_github_repos({ instanceId, ...rest })).repositories.map(
        ({ name }) => name,
      );
    assert.deepEqual(await names({ query: "api" }), ["acme/API"]);
    assert.deepEqual(await names({ query: "ACME/" }), ["acme/API", "acme/web"]);
    assert.deepEqual(await names({ query: "no such thing" }), []);
    assert.deepEqual(await names({ query: "many-249" }), ["ada/many-249"], "on the last page");
    assert.deepEqual(await names({ limit: 2 }), ["ada/notes", "acme/API"]);
    assert.deepEqual(await names({ query: "ada/", limit: 1 }), ["ada/notes"]);
    assertInvalid(
      await context.caller.try("list_github_repos", { instanceId, limit: 501 }),
      "limit",
    );
  },
);

scenario(
  "A missing or logged-out client is reported as a reason, and the call succeeds",
  ["list_github_repos.unavailable"],
  async ({ caller, world }) => {
    const empty = join(place, "no-programs");
    mkdirSync(empty);
    // What starts the daemon here; there is no gh beside it.
    symlinkSync("/usr/bin/setpriv", join(empty, "setpriv"));
    const out = makeGithubHome(github, join(place, "out"));
    const revoked = makeGithubHome(github, join(place, "revoked"), { token: "gho_former" });
    const cases = [
      [{ ...out, PATH: empty }, "cli_not_installed"],
      [out, "not_logged_in"],
      [revoked, "not_logged_in"],
    ] as const;
    for (const [environment, reason] of cases) {
      const { instanceId } = await world.addHost({ environment });
      const reply = await caller.list_github_repos({ instanceId });
      assert.deepEqual(reply, { repositories: [], reason });
    }
  },
);

scenario(
  "An error answer of GitHub is not passed on, and neither is a token",
  [],
  async (context) => {
    const host = await hostWithLogin(context);
    github.fail(502);
    try {
      const { instanceId } = host;
      const reply = await context.caller.try("list_github_repos", { instanceId });
      assertRefused(reply, 409, "host_refused");
      assert.match(reply.text, /status 502/);
      assert.doesNotMatch(reply.text, /inner workings|gho_/);
    } finally {
      github.fail(undefined);
    }
    assert.doesNotMatch(JSON.stringify(host.log), /gho_/);
  },
);
