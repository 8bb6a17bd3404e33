// An exposure as the nodes need it to let requests pass. Ids are those that callers see; times are milliseconds since
// 1970, by the clock of the database.
import type { ExposureScope } from "@hawser/host-protocol";

export interface OpenExposure {
  exposureId: string;
  organizationId: string;
  /** The key of its creator. */
  apiKeyId: string;
  instanceId: string;
  scope: ExposureScope;
  /** Hash of the password, made by `hashPassword`. */
  passwordHash: Buffer;
  expiresAt: number;
  /** The loopback port of its address; null if its address is a host name. */
  port: number | null;
}

/** What one address did with one exposure since the last report. */
export interface ExposureUse {
  exposureId: string;
  organizationId: string;
  address: string;
  /** Requests and WebSockets that were let in. */
  requests: number;
  /** Wrong passwords. */
  refused: number;
  /** Bytes of bodies and of WebSockets, from and to the address. */
  bytesIn: number;
  bytesOut: number;
  lastUsedAt: number;
}
