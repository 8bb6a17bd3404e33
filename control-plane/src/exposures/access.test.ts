// Which exposures give access.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatId } from "@hawser/contract";
import type { Caller } from "../dispatch/caller.ts";
import { createLog } from "../log.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { createExposureAccess } from "./access.ts";

const id = (number: number) => `00000000-0000-7000-8000-00000000000${number}`;

test("N21: the creators of all exposures are read at once, and a failed revocation decides nothing", async () => {
  const rows = [1, 2, 3].map((number) => ({
    organization_id: id(0),
    exposure_id: id(number),
    api_key_id: id(number),
  }));
  const revoked: unknown[] = [];
  const system = {
    async rows(_statement: unknown, ids: unknown) {
      if (revoked.length === 0 && asked === 0) return rows;
      revoked.push(ids);
      throw new Error("locked");
    },
  } as unknown as SystemSql;
  let asked = 0;
  const may = { permissions: new Set(["sessions:edit"]) } as unknown as Caller;
  const mayNot = { permissions: new Set(["sessions:view"]) } as unknown as Caller;
  const callers = new Map([
    [id(1), may],
    [id(2), mayNot],
  ]);
  const access = createExposureAccess(
    system,
    async () => {
      asked += 1;
      return callers;
    },
    createLog("silent"),
  );
  const ids = rows.map(({ exposure_id }) => formatId("exposure", exposure_id));
  assert.deepEqual(await access.stillGood(ids), new Set([ids[0]]));
  assert.equal(asked, 1);
  assert.deepEqual(revoked, [[id(2), id(3)]]);
});
