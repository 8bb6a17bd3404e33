// The link with which an operator lets the first owner of an organization in, as `sign-in-link` makes it.
import { makeSignInLink } from "@hawser/control-plane/sign-in/links.ts";
import type { World } from "./world.ts";

/** The path of the page with the secret behind its #. */
export async function makeOwnerLink(
  { sql, pageUrl }: Pick<World, "sql" | "pageUrl">,
  email: string,
): Promise<string> {
  const { url } = await makeSignInLink(sql.connectionsFor("accounts"), { email, baseUrl: pageUrl });
  const { pathname, hash } = new URL(url);
  return pathname + hash;
}
