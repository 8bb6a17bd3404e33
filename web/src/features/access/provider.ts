// Single sign-on with the identity provider of an organization.
import { queryOptions } from "@tanstack/react-query";
import { Refused } from "../../calls/refused.ts";
import { request } from "../../calls/request.ts";
import { requestSignedIn } from "../../calls/request-signed-in.ts";

interface Ways {
  /** Whether the organization has an identity provider. */
  provider: boolean;
  /** Whether no other way of signing in reaches the organization. */
  required: boolean;
}

/** How people sign in to an organization. Without a provider also if the node is of a version without single sign-on. */
export const waysQuery = (organizationId: string | undefined) =>
  queryOptions({
    queryKey: ["ways", organizationId],
    queryFn: () => readWays(organizationId!),
    enabled: organizationId !== undefined,
  });

async function readWays(organizationId: string): Promise<Ways> {
  const of = new URLSearchParams({ organization: organizationId });
  try {
    return await request<Ways>(`/api/sign-in/ways?${of}`);
  } catch (error) {
    if (error instanceof Refused && error.status === 404) {
      return { provider: false, required: false };
    }
    throw error;
  }
}

/** The address of the provider's page. */
export async function beginProvider(
  organizationId: string,
  more: { renews?: string; again?: boolean; silent?: boolean; invitation?: string } = {},
): Promise<string> {
  const body = { organizationId, ...more };
  return (await request<{ url: string }>("/api/sign-in/provider/begin", body)).url;
}

/** The same, to let the person who is signed in use the provider from now on. Asks for a fresh sign-in. */
export async function beginConnecting(organizationId: string): Promise<string> {
  const body = { organizationId, connect: true };
  return (await requestSignedIn<{ url: string }>("/api/sign-in/provider/begin", body)).url;
}

const channelName = "hawser sign-in";

/** The window in which a sign-in was renewed says so to the page, which the provider has cut off from it. */
export function reportRenewal(error: string | undefined): void {
  const channel = new BroadcastChannel(channelName);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel stays within its origin
  channel.postMessage(error ?? null);
  channel.close();
}

/** Calls `onEnd` with the code of what went wrong, or null. Returns how to stop. */
export function followRenewal(onEnd: (error: string | null) => void): () => void {
  const channel = new BroadcastChannel(channelName);
  channel.addEventListener("message", ({ data }: MessageEvent<unknown>) =>
    onEnd(typeof data === "string" ? data : null),
  );
  return () => channel.close();
}
