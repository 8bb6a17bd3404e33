// Which addresses a webhook may have. Whether an address can be reached is decided when an event is sent, because
// its name may lead elsewhere by then.
import type { Objection } from "./clone-source.ts";
import { z } from "zod";

const longestUrl = 2048;

/** Validates the form of an address. Which ports and networks are open is decided by the service. */
function objectToWebhookUrl(text: string): Objection {
  if (text.length > longestUrl) return `must have at most ${longestUrl} characters`;
  const url = URL.parse(text);
  // The parser drops tabs and line ends, so that the stored text would not be the address that is called.
  if (!url || /[\p{C}\p{Z}\\]/u.test(text)) return "must be an https:// address";
  if (url.protocol !== "https:" && url.protocol !== "http:") return "must be an https:// address";
  if (url.username !== "" || url.password !== "") return "must not contain a user or a password";
  if (url.hash !== "") return "must not contain a fragment, which is not sent";
  return null;
}

/** The address of a webhook in an action's body. The audit trail keeps its origin only. */
export const WebhookUrl = z
  .string()
  .check((context) => {
    const objection = objectToWebhookUrl(context.value);
    if (objection !== null) {
      context.issues.push({ code: "custom", input: context.value, message: objection });
    }
  })
  .meta({ format: "uri", description: "An https:// address that accepts POST." });
