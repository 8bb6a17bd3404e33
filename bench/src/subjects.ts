// The measured calls: the product's request, the bare server's statement, and a check that both answer
// correctly before anything is timed.
import assert from "node:assert/strict";
import { formatId } from "@hawser/contract";
import { selectInstance } from "@hawser/control-plane/instances/store.ts";
import { newest } from "@hawser/control-plane/sessions/store.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import type { World } from "@hawser/testkit/world.ts";
import type { BareStatement } from "./bare-server.ts";
import type { LoadJob } from "./load.ts";
import { callersOrganization } from "./seed.ts";
import { connections } from "./stage.ts";

export interface Subject {
  /** The request to both sides, each at its own address. */
  job: Omit<LoadJob, "seconds" | "requests">;
  bare: BareStatement;
  /** Throws unless both sides answer with the contents of the tables. */
  verify(bareUrl: string): Promise<void>;
}

const pageSize = 50;
const lastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";
/** Wanted number of active sessions of the measured instance; the nearest is chosen. */
const activeSessions = 4;

export function listSessions(world: World): Subject {
  const organizationId = callersOrganization(world);
  const { job, bare } = subjectOf(world, "list_sessions", {});
  const values = [organizationId, lastId, pageSize];
  return {
    job,
    bare: { ...bare, ...newest, values },
    async verify(bareUrl) {
      const expected = await ownerSql<{ session_id: string }>(
        world.database.url,
        `SELECT session_id FROM sessions WHERE organization_id = $1 AND deleted_at IS NULL
          ORDER BY session_id DESC LIMIT ${pageSize}`,
        [organizationId],
      );
      assert.equal(expected.length, pageSize);
      const newest = expected.map((row) => row.session_id);
      const { sessions } = await world.caller.list_sessions({});
      assert.deepEqual(
        sessions.map(({ sessionId }) => sessionId),
        newest.map((id) => formatId("session", id)),
      );
      const rows = await answerOf<{ session_id: string }>(bareUrl);
      assert.deepEqual(
        rows.map((row) => row.session_id),
        newest,
      );
    },
  };
}

export async function getInstance(world: World): Promise<Subject> {
  const organizationId = callersOrganization(world);
  const [found] = await ownerSql<{ instance_id: string; active_session_count: number }>(
    world.database.url,
    `SELECT instance_id, active_session_count FROM instances WHERE organization_id = $1
      ORDER BY abs(active_session_count - $2), instance_id LIMIT 1`,
    [organizationId, activeSessions],
  );
  const id = found!.instance_id;
  const instanceId = formatId("instance", id);
  const { job, bare } = subjectOf(world, "get_instance", { instanceId });
  return {
    job,
    bare: { ...bare, ...selectInstance, values: [organizationId, id] },
    async verify(bareUrl) {
      const instance = await world.caller.get_instance({ instanceId });
      assert.equal(instance.instanceId, instanceId);
      assert.equal(instance.activeSessions.length, found!.active_session_count);
      const rows = await answerOf<{ instance_id: string; name: string }>(bareUrl);
      assert.deepEqual(
        rows.map(({ instance_id, name }) => ({ instance_id, name })),
        [{ instance_id: id, name: instance.name }],
      );
    },
  };
}

function subjectOf(world: World, action: string, input: object) {
  return {
    job: {
      url: `${world.baseUrl}/api/rest/actions/${action}`,
      headers: {
        authorization: `Bearer ${world.caller.key}`,
        "content-type": "application/json",
      },
      bodies: [JSON.stringify(input)],
      connections,
    },
    bare: { databaseUrl: world.database.url, connections },
  };
}

async function answerOf<Row>(url: string): Promise<Row[]> {
  const response = await fetch(url, { method: "POST" });
  assert.equal(response.status, 200);
  return (await response.json()) as Row[];
}
