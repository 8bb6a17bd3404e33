// A further member of a session bed's organization, with a key of theirs.
import { roles } from "@hawser/contract";
import { makeKey } from "./organization.ts";
import type { SessionBed } from "./session-bed.ts";

export async function addMember(
  { organization, service }: SessionBed,
  node: ReturnType<SessionBed["addNode"]>,
  about: { email: string; name?: string },
): Promise<{ userId: string; key: string }> {
  const input = { ...about, role: "member" };
  const added = await node.result("add_member", input, { key: organization.keys.owner });
  const userId = added["userId"] as string;
  const { organizationId } = organization;
  return { userId, key: await makeKey(service.database, organizationId, roles.member, { userId }) };
}
