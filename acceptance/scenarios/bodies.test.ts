// Every field of every body, probed as its row in the requirements says. What is sent comes from
// the pin; a field counts as proven only when each clause of its row was tried.
//
// "Accepted" means not 400: an action that is not built answers a good body with 501, and an id
// that names nothing gets 404.
import assert from "node:assert/strict";
import type { Reply } from "@hawser/testkit/caller.ts";
import { probesOf } from "../field-probes.ts";
import { pin, type PinnedAction, type PinnedField } from "../pin.ts";
import { assertInvalid, assertRefused, refusalOf } from "../refusal.ts";
import type { RequirementId } from "../requirement-ids.ts";
import { requirements } from "../requirements.ts";
import { scenario, useWorld } from "../scenario.ts";
import { validBody, withField, type Body } from "../valid-body.ts";

useWorld({ environment: { HAWSER_RATE_PER_SECOND: "5000", HAWSER_RATE_BURST: "5000" } });

const rows = new Map<string, string>(requirements.map(({ id, probe }) => [id, probe]));

function pinned(name: string): PinnedAction {
  const action = pin.actions.find((each) => each.name === name);
  assert.ok(action, name);
  return action;
}

function assertAccepted(action: PinnedAction, reply: Reply, about: string): void {
  // Deleting treats each id by itself, and fails when no session was there.
  const good = action.name === "delete_session" ? [200, 409] : [200, 404];
  assert.ok(good.includes(reply.status), `${about}: ${reply.status} ${reply.text}`);
}

/** A 400 that names the field, or a part of it. */
function assertRefusedFor(reply: Reply, field: string, about: string): void {
  const { fields = [] } = assertRefused(reply, 400, "invalid_input", about);
  const named = fields.map((each) => each.field);
  const own = named.some((name) => name === field || /^[.[]/.test(name.slice(field.length)));
  assert.ok(own && named.every((name) => name.startsWith(field)), `${about}: ${reply.text}`);
}

/** Every field of an action, nested ones too, with the path to it and the name refusals give it. */
function fieldsOf({
  fields,
}: PinnedAction): { path: string[]; shown: string; field: PinnedField }[] {
  return fields.flatMap((field) => {
    const inner = (field.fields ?? field.items?.fields ?? []).map((each) => ({
      path: [field.name, each.name],
      shown: `${field.name}${field.items ? "[0]" : ""}.${each.name}`,
      field: each,
    }));
    return [{ path: [field.name], shown: field.name, field }, ...inner];
  });
}

for (const action of pin.actions) {
  for (const { path, shown, field } of fieldsOf(action)) {
    const id = `${action.name}.${path.join(".")}`;
    scenario(
      `${action.name} takes ${shown} as promised`,
      [id as RequirementId],
      async (context) => {
        const row = rows.get(id);
        assert.ok(row, `${id} is in the requirements`);
        const probes = probesOf(field.name, field.required, field);
        const tried = new Set(probes.map(({ clause }) => clause));
        for (const clause of row.split("; ")) assert.ok(tried.has(clause), `not tried: ${clause}`);
        for (const { clause, accept = [], refuse = [] } of probes) {
          for (const value of accept) {
            const body = withField(action, path, value);
            assertAccepted(action, await context.caller.try(action.name, body), `${id} ${clause}`);
          }
          for (const value of refuse) {
            const body = withField(action, path, value);
            const about = `${id} ${clause} ${JSON.stringify(value)?.slice(0, 50)}`;
            assertRefusedFor(await context.caller.try(action.name, body), shown, about);
          }
        }
      },
    );
  }
}

scenario(
  "No action accepts a property that its row does not declare",
  ["general.body.undeclared"],
  async ({ caller }) => {
    for (const action of pin.actions) {
      const body = validBody(action);
      assertAccepted(action, await caller.try(action.name, body), action.name);
      for (const extra of ["zz", "toString", "Name", " name"]) {
        const reply = await caller.try(action.name, { ...body, [extra]: 1 });
        const { fields } = assertRefused(reply, 400, "invalid_input", action.name);
        assert.deepEqual(
          fields?.map(({ field }) => field),
          [extra],
          action.name,
        );
      }
    }
  },
);

scenario(
  "Nested objects are as strict as the body",
  ["general.body.undeclared_nested"],
  async ({ caller }) => {
    const chain = [{ kind: "codex", zz: 1 }];
    const model = { providerID: "p", modelID: "m", zz: 1 };
    const attachments = [{ mime: "text/plain", fileId: "f", zz: 1 }];
    const bodies: [string, Body, string][] = [
      ["start_session", { directory: undefined, clone: { repo: "a/b", zz: 1 } }, "clone.zz"],
      ["send_prompt", { model }, "model.zz"],
      ["send_prompt", { attachments }, "attachments[0].zz"],
      ["set_fallback_chain", { chain }, "chain[0].zz"],
      ["create_scheduled_prompt", { fallbackChain: chain }, "fallbackChain[0].zz"],
      ["update_scheduled_prompt", { fallbackChain: chain }, "fallbackChain[0].zz"],
    ];
    for (const [name, part, field] of bodies) {
      const reply = await caller.try(name, { ...validBody(pinned(name)), ...part });
      assertInvalid(reply, field, name);
    }
  },
);

scenario(
  "Null is accepted only where the interface allows it",
  ["general.body.null"],
  async ({ caller }) => {
    const start = { instanceId: "x", directory: "/d", title: null };
    assertInvalid(await caller.try("start_session", start), "title");
    const create = pinned("create_scheduled_prompt");
    const body = withField(create, ["directory"], null);
    assert.equal(body["directory"], null);
    assertAccepted(create, await caller.try(create.name, body), "directory null");
    // Every field, nullable or not, is tried with null by its own scenario above.
  },
);

scenario(
  "Every field for an agent kind accepts exactly the three kinds",
  ["general.agent_kinds"],
  async ({ caller }) => {
    let fields = 0;
    for (const action of pin.actions) {
      for (const { path, shown, field } of fieldsOf(action)) {
        if (!/^(?:kind|agentKind)$/.test(field.name)) continue;
        fields += 1;
        // Accounts are linked for two of the three; their own rows refuse the third.
        const links = ["start_agent_login", "unlink_agent_identity"].includes(action.name);
        const kinds = ["opencode", "claude_code", "codex"].slice(links ? 1 : 0);
        for (const kind of kinds) {
          const reply = await caller.try(action.name, withField(action, path, kind));
          assertAccepted(action, reply, `${action.name} ${kind}`);
        }
        for (const other of ["aider", "OpenCode", ""]) {
          const reply = await caller.try(action.name, withField(action, path, other));
          assertInvalid(reply, shown, action.name);
        }
      }
    }
    assert.ok(fields >= 10, String(fields));
  },
);

scenario(
  "A path to browse, or to start a session in, must be absolute",
  ["browse_directory.path.absolute", "start_session.directory.absolute"],
  async ({ caller }) => {
    const browse = { instanceId: "x", path: "src" };
    assertInvalid(await caller.try("browse_directory", browse), "path");
    const start = { instanceId: "x", directory: "repo" };
    assertInvalid(await caller.try("start_session", start), "directory");
  },
);

scenario(
  "A clone has exactly one source",
  ["clone_repository.source", "start_session.directory_or_clone"],
  async ({ caller }) => {
    const into = { instanceId: "x", rootPath: "/srv/code" };
    const url = "https://code.example/a/b";
    for (const source of [{}, { repo: "a/b", url }]) {
      const { fields } = assertRefused(
        await caller.try("clone_repository", { ...into, ...source }),
        400,
        "invalid_input",
      );
      assert.deepEqual(
        fields?.map(({ field }) => field),
        ["repo", "url"],
      );
    }
    for (const target of [{}, { directory: "/d", clone: { url } }]) {
      const { fields } = assertRefused(
        await caller.try("start_session", { instanceId: "x", ...target }),
        400,
        "invalid_input",
      );
      assert.deepEqual(
        fields?.map(({ field }) => field),
        ["directory", "clone"],
      );
    }
  },
);

scenario(
  "The name of a checkout cannot leave the root or be a command-line option",
  ["clone_repository.name.safe"],
  async ({ caller }) => {
    const body = { instanceId: "x", rootPath: "/srv/code", repo: "a/b" };
    const names = ["..", ".git", "a/b", "-x", ".", ".GIT", "git~1", "x.", "x ", "a\\b", "a\nb"];
    for (const name of [...names, "x".repeat(256)]) {
      assertInvalid(await caller.try("clone_repository", { ...body, name }), "name", name);
      const start = { instanceId: "x", clone: { repo: "a/b", name } };
      assertInvalid(await caller.try("start_session", start), "clone.name", name);
    }
    const fine = await caller.try("clone_repository", { ...body, name: "widget-2" });
    assertAccepted(pinned("clone_repository"), fine, "a plain name");
  },
);

scenario(
  "An address that would run a command or read files is refused",
  ["clone_repository.url.safe"],
  async ({ caller }) => {
    const named = ["ext::sh -c x", "--upload-pack=x", "file:///etc", "ssh://-oProxyCommand=x/y"];
    const more = [
      "-u x",
      "EXT::sh",
      "/x",
      "../x",
      "https://h/%0ahost=z",
      "https:///h",
      "ftp://h/x",
    ];
    const secrets = [
      "https://u:p@h/r",
      "http://u:p@h/r",
      "git://u@h/r",
      "ssh://u:p@h/r",
      "https://h/a b",
      "fd::17/x",
      "C:x",
      "",
    ];
    for (const url of [...named, ...more, ...secrets]) {
      const clone = { instanceId: "x", rootPath: "/srv/code", url };
      assertInvalid(await caller.try("clone_repository", clone), "url", url);
      const start = { instanceId: "x", clone: { url } };
      assertInvalid(await caller.try("start_session", start), "clone.url", url);
      const { startAt, ...rest } = validBody(pinned("create_scheduled_prompt"));
      const schedule = { ...rest, startAt, directory: null, cloneUrl: url };
      assertInvalid(await caller.try("create_scheduled_prompt", schedule), "cloneUrl", url);
    }
  },
);

scenario(
  "Deleting sessions accepts one id or a list, never both or neither",
  ["delete_session.one_form"],
  async ({ caller }) => {
    for (const body of [{}, { sessionId: "a", sessionIds: ["a"] }]) {
      const { fields } = refusalOf(await caller.try("delete_session", body));
      assert.deepEqual(
        fields?.map(({ field }) => field),
        ["sessionId", "sessionIds"],
      );
    }
    const repeated = await caller.try("delete_session", { sessionIds: ["a", "a"] });
    assertAccepted(pinned("delete_session"), repeated, "repeats count once");
  },
);

scenario(
  "A schedule's start is a date and time that exists",
  ["create_scheduled_prompt.startAt.format"],
  async ({ caller }) => {
    const action = pinned("create_scheduled_prompt");
    const bad = ["tomorrow", "2026-13-01T00:00:00Z", 5, "2030-02-30T00:00:00Z", "2030-01-01", ""];
    for (const startAt of [...bad, "2030-01-01T24:00:00Z", "2030-01-01T00:00:00+25:00"]) {
      const reply = await caller.try(action.name, { ...validBody(action), startAt });
      assertInvalid(reply, "startAt", String(startAt));
    }
    for (const startAt of [
      "2030-01-01T00:00:00+02:00",
      "2030-01-01T00:00",
      "2001-01-01T00:00:00Z",
    ]) {
      const reply = await caller.try(action.name, { ...validBody(action), startAt });
      assertAccepted(action, reply, startAt);
    }
  },
);

scenario("A schedule has exactly one target, and keeps one", [], async ({ caller }) => {
  const action = pinned("create_scheduled_prompt");
  const { directory: _, ...none } = validBody(action);
  const [repo, url] = ["a/b", "https://code.example/a/b"];
  const bad = [{}, { directory: "/d", cloneRepo: repo }, { cloneRepo: repo, cloneUrl: url }];
  for (const target of [...bad, { directory: "" }, { directory: null }]) {
    const reply = await caller.try(action.name, { ...none, ...target });
    assertRefused(reply, 400, "invalid_input", JSON.stringify(target));
  }
  const good = await caller.try(action.name, { ...none, directory: "/d", cloneRepo: null });
  assertAccepted(action, good, "the others null");
  const cleared = { scheduleId: "x", directory: null, cloneRepo: null, cloneUrl: null };
  assertRefused(await caller.try("update_scheduled_prompt", cleared), 400, "invalid_input");
});

scenario("An attachment is a file or an address, https or data", [], async ({ caller }) => {
  const action = pinned("send_prompt");
  const send = (attachment: Body) =>
    caller.try(action.name, {
      ...validBody(action),
      attachments: [{ mime: "image/png", ...attachment }],
    });
  for (const bad of [
    {},
    { fileId: "f", url: "https://h/x" },
    { url: "file:///etc" },
    { url: "x" },
  ]) {
    assertRefused(await send(bad), 400, "invalid_input", JSON.stringify(bad));
  }
  for (const good of [{ fileId: "f" }, { url: "https://h/x" }, { url: "data:,x" }]) {
    assertAccepted(action, await send(good), JSON.stringify(good));
  }
});

scenario("A question is answered or rejected, never both or neither", [], async ({ caller }) => {
  const action = pinned("answer_question");
  const send = (part: Body) => caller.try(action.name, { requestId: "r", ...part });
  for (const bad of [{}, { reject: false }, { answers: [["a"]], reject: true }]) {
    assertRefused(await send(bad), 400, "invalid_input", JSON.stringify(bad));
  }
  for (const good of [{ reject: true }, { answers: [["a"], []] }]) {
    assertAccepted(action, await send(good), JSON.stringify(good));
  }
});
