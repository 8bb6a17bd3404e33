// Single sign-on with the identity provider of an organization.
import { Refused } from "../../calls/refused.ts";
import { request } from "../../calls/request.ts";

/** False also if the node is of a version without single sign-on. */
export async function hasProvider(organizationId: string | undefined): Promise<boolean> {
  const of = new URLSearchParams(
    organizationId === undefined ? {} : { organization: organizationId },
  );
  try {
    return (await request<{ provider: boolean }>(`/api/sign-in/ways?${of}`)).provider;
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return false;
    throw error;
  }
}

/** The address of the provider's page. */
export async function beginProvider(organizationId: string): Promise<string> {
  const body = { organizationId };
  return (await request<{ url: string }>("/api/sign-in/provider/begin", body)).url;
}
