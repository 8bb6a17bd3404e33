// The 49 actions of the interface's document, read from the pin and not from the code.
import { readFileSync } from "node:fs";
import type { ActionName, Permission } from "@hawser/contract";

/** The form of a value. Bounds limit a text's characters, an array's items, or an integer's value. */
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
