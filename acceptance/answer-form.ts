// Checks the form that every successful answer of an action has: one member `result`, as JSON, in which
// identifiers are strings and sessions have one of the five statuses.
import type { SeenReply } from "@hawser/testkit/caller.ts";

/** How many of these parts the answers contained, and a line for each that is wrong. */
interface Checked {
  count: number;
  wrong: string[];
}

export interface AnswerForms {
  envelopes: Checked;
  ids: Checked;
  sessionStatuses: Checked;
}

/** Reads a scenario's replies. Replies that are not successful answers of actions are ignored. */
export function checkAnswerForms(replies: readonly SeenReply[]): AnswerForms {
  const none = (): Checked => ({ count: 0, wrong: [] });
  const forms = { envelopes: none(), ids: none(), sessionStatuses: none() };
  for (const { path, status, headers, body, text } of replies) {
    if (status !== 200 || !path.startsWith("/api/rest/actions/")) continue;
    const type = headers.get("content-type") ?? "none";
    const members = isObject(body) ? Object.keys(body).join() : typeof body;
    const isRight = members === "result" && /^application\/json\b/.test(type);
    check(forms.envelopes, isRight, `${path}: ${type} with ${members}: ${text.slice(0, 200)}`);
    checkWithin(body, path, forms);
  }
  return forms;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

function check(checked: Checked, isRight: boolean, line: string): void {
  checked.count += 1;
  if (!isRight) checked.wrong.push(line);
}

/** Parts of a result with the words of an agent or of a caller; their keys are not the service's. */
const foreign = ["update", "input"];
const sessionStatuses = ["active", "detached", "error", "ended", "cleanup_failed"];

function checkWithin(value: unknown, at: string, forms: AnswerForms): void {
  if (!isObject(value)) return;
  if ("sessionId" in value && "agentKind" in value && "status" in value) {
    const isKnown = sessionStatuses.includes(String(value.status));
    check(forms.sessionStatuses, isKnown, `${at}.status is ${String(value.status)}`);
  }
  for (const [key, inner] of Object.entries(value)) {
    const place = `${at}.${key}`;
    const line = `${place} is ${JSON.stringify(inner)?.slice(0, 100)}`;
    if (foreign.includes(key)) continue;
    // Null says that there is no such record, as in a key bound to no session.
    if (key.endsWith("Id")) {
      if (inner !== null) check(forms.ids, typeof inner === "string", line);
    } else if (key.endsWith("Ids")) {
      const ids = Array.isArray(inner) ? (inner as unknown[]) : [undefined];
      for (const id of ids) check(forms.ids, typeof id === "string", line);
    } else {
      checkWithin(inner, place, forms);
    }
  }
}
