// REST and MCP behind one interface, so that the same steps of a test can use either.
import assert from "node:assert/strict";
import type { ActionName, ErrorBody } from "@hawser/contract";
import { callsBy, type Caller, type Calls } from "@hawser/testkit/caller.ts";
import type { Client } from "@modelcontextprotocol/client";
import { refusalOf } from "./refusal.ts";

export interface Door {
  call: Calls;
  /** Makes a call that must be refused, and returns the refusal. */
  refusal(action: ActionName, body: Record<string, unknown>): Promise<ErrorBody["error"]>;
}

export const restDoor = (caller: Caller): Door => ({
  call: caller,
  refusal: async (action, body) => refusalOf(await caller.try(action, body)),
});

export function mcpDoor(client: Client): Door {
  const callTool = async (name: ActionName, input: unknown) => {
    const body = input as Record<string, unknown>;
    const { isError, structuredContent } = await client.callTool({ name, arguments: body });
    return { isRefused: isError === true, content: structuredContent };
  };
  return {
    call: callsBy(async (name, input) => {
      const { isRefused, content } = await callTool(name, input);
      assert.ok(!isRefused, `${name} was refused: ${JSON.stringify(content)}`);
      return content;
    }),
    async refusal(name, body) {
      const { isRefused, content } = await callTool(name, body);
      assert.ok(isRefused, `${name} was not refused: ${JSON.stringify(content)}`);
      return (content as ErrorBody).error;
    },
  };
}
