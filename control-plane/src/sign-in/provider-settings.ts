// The settings of an organization's provider, as its row has them and as a sign-in uses them.
import { formatId } from "@hawser/contract";
import type { ProviderSettings } from "./provider.ts";
import type { SettingsRow } from "./provider-store.ts";
import type { Sealing } from "./sealing.ts";
import { signInPath } from "./requests.ts";

type SecretPlace = Pick<SettingsRow, "organization_id" | "settings_id">;

/** Where a client secret is sealed for: a row with other settings cannot use it. */
export const clientSecretPlace = ({ organization_id, settings_id }: SecretPlace) =>
  `client secret\n${organization_id}\n${settings_id}`;

export function providerOf(sealing: Sealing, row: SettingsRow): ProviderSettings {
  const clientSecret = sealing.open(clientSecretPlace(row), row.client_secret);
  if (clientSecret === undefined) {
    throw new Error(`The client secret of ${row.organization_id} cannot be decrypted.`);
  }
  return {
    issuer: row.issuer,
    clientId: row.client_id,
    clientSecret,
    groupsClaim: row.groups_claim,
  };
}

export const callbackPath = "/provider/callback";

/**
 * Where a provider sends the browser back to. Each organization has an address of its own, so that the provider of
 * one cannot pass on a browser to the provider of another, and get what that one answers.
 */
export function redirectUriOf(baseUrl: string, organizationId: string): string {
  return `${baseUrl}${signInPath}${callbackPath}/${formatId("organization", organizationId)}`;
}

/** The role of the first entry whose group the person has; null if there is none. */
export function roleOfGroups(
  { groups_claim, group_roles }: Pick<SettingsRow, "groups_claim" | "group_roles">,
  groups: readonly string[],
): string | null {
  if (groups_claim === null) return null;
  return group_roles.find(({ group }) => groups.includes(group))?.role ?? null;
}
