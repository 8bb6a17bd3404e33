// The 49 actions as the interface's document has them, read from the pin and not from the code.
import { readFileSync } from "node:fs";
import type { ActionName, Permission } from "@hawser/contract";

/** A value's form: bounds count characters of text, items of arrays, and size of integers. */
export interface PinnedShape {
  type: "string" | "integer" | "boolean" | "array" | "object" | "map";
  nullable?: boolean;
  enum?: (string | number)[];
  min?: number;
  max?: number;
  format?: "absolute-path" | "owner/name" | "date-time";
  items?: PinnedShape;
  fields?: PinnedField[];
}

export interface PinnedField extends PinnedShape {
  name: string;
  required: boolean;
}

export interface PinnedAction {
  name: ActionName;
  permission: Permission;
  fields: PinnedField[];
  rules?: { rule: string; fields: string[] }[];
}

interface Pin {
  permissions: Permission[];
  agentKinds: string[];
  actions: PinnedAction[];
}

const file = new URL("../contract/src/pin.json", import.meta.url);

export const pin = JSON.parse(readFileSync(file, "utf8")) as Pin;
