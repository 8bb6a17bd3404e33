// Reads a configuration file of an agent: JSON, or TOML if its name says so.
import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import { isObject } from "./is-object.ts";

/** undefined if the file is missing or not in its format. */
export function readConfigFile(file: string): Record<string, unknown> | undefined {
  try {
    const text = readFileSync(file, "utf8");
    const read: unknown = file.endsWith(".toml") ? parseToml(text) : JSON.parse(text);
    return isObject(read) ? read : undefined;
  } catch {
    return undefined;
  }
}
