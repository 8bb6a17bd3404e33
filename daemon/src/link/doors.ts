// The HTTP requests of a host without a link: pairing, and a new token when the old one has expired or is
// refused. The clock is set by each answer.
import { rmSync } from "node:fs";
import { received, type MessageSchema } from "@hawser/contract";
import {
  NewToken,
  NonceReply,
  PairReply,
  fabricPath,
  isServerUrl,
  makeNkey,
  makeRenewRequest,
  type Nkey,
} from "@hawser/host-protocol";
import { daemonVersion } from "../release.ts";
import { removeTreeNow } from "../remove-tree.ts";
import type { State } from "../state/state.ts";
import type { ServerClock } from "./server-clock.ts";
import { throwIfRefused, type IsRemoved } from "./up-call.ts";

/** The control plane refused the request, or its answer cannot be understood. */
export class DoorError extends Error {}

const patienceMs = 15_000;
const timePatienceMs = 3_000;

/** Makes this host's key, and redeems the pairing token for the host's registration. */
export async function pairHost(
  state: State,
  serverUrl: string,
  pairingToken: string,
): Promise<{ instanceId: string }> {
  const origin = checkServerUrl(serverUrl);
  const key = makeNkey("user");
  const body = {
    pairingToken,
    publicKey: key.publicKey,
    machineId: state.machineId,
    daemonVersion,
  };
  const answer = await post(origin, "/api/hosts/pair", body);
  const { instanceId, token, commandKey } = read(PairReply, answer);
  // People have linked accounts with the host that this one was, and may have unlinked them from another since.
  removeTreeNow(state.homesDirectory);
  rmSync(state.sealingKeyPath, { force: true });
  state.saveCredentials({ serverUrl: origin, instanceId, seed: key.seed, token, commandKey });
  return { instanceId };
}

/** Gets a token by the host's key alone, and with a challenge a proof of the address. Throws as `throwIfRefused` does, and DoorError. */
export async function renewToken(
  { serverUrl, key, clock, isRemoved, challenge }: Renewing,
  signal: AbortSignal,
): Promise<NewToken> {
  const ask = (path: string, body: object) => post(serverUrl, path, body, { clock, signal });
  const { nonce } = read(NonceReply, await ask("/api/hosts/nonce", {}));
  const answer = await ask("/api/hosts/renew", makeRenewRequest(key, nonce, challenge));
  // The status does not count: a 403 may also come from a proxy.
  throwIfRefused(answer.body, isRemoved);
  return read(NewToken, answer);
}

interface Renewing {
  serverUrl: string;
  key: Nkey;
  clock: ServerClock;
  isRemoved: IsRemoved;
  challenge?: string;
}

/** Sets the clock by any answer of the server. */
export async function askTime(
  serverUrl: string,
  clock: ServerClock,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(new URL(fabricPath, serverUrl), {
    method: "HEAD",
    redirect: "manual",
    signal: AbortSignal.any([signal, AbortSignal.timeout(timePatienceMs)]),
  });
  clock.learn(response.headers.get("date"));
}

interface Answered {
  status: number;
  body: unknown;
}

async function post(
  serverUrl: string,
  path: string,
  body: object,
  { clock, signal }: { clock?: ServerClock; signal?: AbortSignal } = {},
): Promise<Answered> {
  const patience = AbortSignal.timeout(patienceMs);
  let response: Response;
  let text: string;
  try {
    response = await fetch(new URL(path, serverUrl), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      redirect: "manual",
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
    });
    text = await response.text();
  } catch (cause) {
    throw new DoorError(`The control plane at ${serverUrl} cannot be reached.`, { cause });
  }
  clock?.learn(response.headers.get("date"));
  try {
    return { status: response.status, body: JSON.parse(text) as unknown };
  } catch {
    return { status: response.status, body: undefined };
  }
}

function read<Value>(schema: MessageSchema<Value>, { status, body }: Answered): Value {
  const value = status === 200 ? received(schema).safeParse(body).data : undefined;
  if (value !== undefined) return value;
  throw new DoorError(sentence(body) ?? `The control plane gave an unexpected answer (${status}).`);
}

/** The message of an error in the product's own shape; undefined if it has another shape. */
function sentence(body: unknown): string | undefined {
  const error = (body as { error?: { code?: unknown; message?: unknown } } | undefined)?.error;
  return typeof error?.code === "string" ? String(error.message) : undefined;
}

/** The key that commands are checked with is received at pairing, so nobody in between may change it. */
function checkServerUrl(text: string): string {
  if (isServerUrl(text)) return new URL(text).origin;
  throw new DoorError(`"${text}" is not the https:// address of a control plane.`);
}
