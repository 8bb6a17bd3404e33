// The hash of an exposure's password, as it is stored.
import { createHash } from "node:crypto";
import type { ExposureScope } from "@hawser/host-protocol";

/**
 * The password of a preview has another hash. A node of a version without previews takes their rows for exposures of
 * opencode, so it must not accept their passwords during an upgrade.
 */
export function hashPassword(password: string, kind: ExposureScope["kind"]): Buffer {
  const text = kind === "port" ? `preview\n${password}` : password;
  return createHash("sha256").update(text).digest();
}
