// The two secrets of exposure traffic that no table stores: the ticket with which a host opens a tunnel, and the token
// with which a node forwards one request to another node (N20). Both are signed with a key that all nodes share.
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

export interface Ticket {
  exposureId: string;
  instanceId: string;
}

/** One request of one exposure. */
export interface NodeRequest {
  exposureId: string;
  method: string;
  path: string;
}

export interface TunnelTokens {
  makeTicket(ticket: Ticket): string;
  /** undefined if it is forged, older than a minute, or was used at this node before. */
  useTicket(text: string): Ticket | undefined;
  makeNodeToken(request: NodeRequest): string;
  /** Whether the token was made for this request in the last minute, and is presented for the first time. */
  acceptNodeToken(text: string, request: NodeRequest): boolean;
}

const validMs = 60_000;
/** Clocks of nodes follow the database, and differ by less. */
const aheadMs = 5_000;
/** Bounds the memory of used tokens. Beyond it, requests are refused until older tokens have expired. */
const mostNonces = 500_000;
const ticketPattern = /^hwt_([\w-]+)\.([\w-]+)\.(\d{1,15})\.([\w-]{22})\.([\w-]{43})$/;
const nodeTokenPattern = /^(\d{1,15})\.([\w-]{22})\.([\w-]{43})$/;

export function createTunnelTokens(secret: Buffer, now: () => number): TunnelTokens {
  /** Used nonces of the current period and of the one before, which together last at least `validMs`. */
  let used = { since: now(), recent: new Set<string>(), older: new Set<string>() };

  /** The parts are joined with line breaks, which none of them contains: no two lists give the same text. */
  const sign = (...parts: (string | number)[]) =>
    createHmac("sha256", secret).update(parts.join("\n")).digest();

  const isSigned = (mac: string, ...parts: (string | number)[]) =>
    timingSafeEqual(sign(...parts), Buffer.from(mac, "base64url"));

  function isFresh(madeAt: number): boolean {
    const age = now() - madeAt;
    return age >= -aheadMs && age <= validMs;
  }

  /** Returns false if the nonce was used before. */
  function use(nonce: string): boolean {
    const at = now();
    if (Math.abs(at - used.since) > validMs + aheadMs) {
      used = { since: at, recent: new Set(), older: used.recent };
    }
    if (used.recent.has(nonce) || used.older.has(nonce)) return false;
    if (used.recent.size >= mostNonces) return false;
    used.recent.add(nonce);
    return true;
  }

  return {
    makeTicket({ exposureId, instanceId }) {
      const at = now();
      const nonce = randomBytes(16).toString("base64url");
      const mac = sign("ticket", exposureId, instanceId, at, nonce).toString("base64url");
      return `hwt_${exposureId}.${instanceId}.${at}.${nonce}.${mac}`;
    },
    useTicket(text) {
      const [, exposureId, instanceId, at, nonce, mac] = ticketPattern.exec(text) ?? [];
      if (exposureId === undefined) return undefined;
      if (!isSigned(mac!, "ticket", exposureId, instanceId!, at!, nonce!)) return undefined;
      if (!isFresh(Number(at)) || !use(nonce!)) return undefined;
      return { exposureId, instanceId: instanceId! };
    },
    makeNodeToken({ exposureId, method, path }) {
      const at = now();
      const nonce = randomBytes(16).toString("base64url");
      const mac = sign("node", exposureId, method, path, at, nonce).toString("base64url");
      return `${at}.${nonce}.${mac}`;
    },
    acceptNodeToken(text, { exposureId, method, path }) {
      const [, at, nonce, mac] = nodeTokenPattern.exec(text) ?? [];
      if (at === undefined || !isSigned(mac!, "node", exposureId, method, path, at, nonce!)) {
        return false;
      }
      return isFresh(Number(at)) && use(nonce!);
    },
  };
}
