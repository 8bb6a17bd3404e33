// Distinguishes this machine from a copy of it: a copied disk has the same key, but rarely the same
// machine id, device and inode at once.
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";

export function machineId(stateDirectory: string): string {
  const { dev, ino } = statSync(stateDirectory);
  return createHash("sha256").update(`${systemId()}\n${dev}\n${ino}`).digest("hex");
}

/** Missing in some containers; device and inode must suffice there. */
function systemId(): string {
  try {
    return readFileSync("/etc/machine-id", "utf8").trim();
  } catch {
    return "";
  }
}
