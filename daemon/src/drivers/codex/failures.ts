// Why a turn failed, as a sentence for people that says what to do.
import type { TurnError } from "./protocol.ts";

const longest = 300;

export function explainFailure(error: TurnError | null): string {
  if (!error) return "Codex gave up without a reason. Send the prompt again.";
  const isRetry = error.message.startsWith("Reconnecting");
  const words = (isRetry && error.additionalDetails) || error.message;
  const said = `Codex said: ${plainWords(words)}`;
  const { word, status } = kindOf(error);
  const known = byWord[word] ?? (status === undefined ? undefined : byStatus(status));
  return known ? `${known} ${said}` : `The turn failed. ${said} Send the prompt again.`;
}

const unreachable =
  "The model could not be reached. Check the host's network and the provider's address, then send the prompt again.";
const notAllowed =
  "The model's provider refused the host's login or key. Log in to codex on the host again, or correct the key.";
const limited =
  "The usage limit of the account is reached. Wait until it is reset, or use another model or agent.";
const busy =
  "The model's provider is overloaded or has a fault. Wait a little, then send the prompt again.";

const byWord: Record<string, string> = {
  unauthorized: notAllowed,
  usageLimitExceeded: limited,
  rateLimitExceeded: "The provider allows no more requests for now. Wait a little, then try again.",
  serverOverloaded: busy,
  internalServerError: busy,
  modelNotFound: "The provider does not have this model. Choose another one from list_models.",
  contextWindowExceeded: "The conversation is longer than the model can take. Start a new session.",
  badRequest: "The provider refused the request. Try another model, or start a new session.",
  sandboxError: "Codex's sandbox does not work on this host. Allow user namespaces on it.",
};

function byStatus(status: number | null): string {
  if (status === null) return unreachable;
  if (status === 401 || status === 403) return notAllowed;
  if (status === 429) return byWord["rateLimitExceeded"]!;
  if (status === 404) return byWord["modelNotFound"]!;
  return status >= 500 ? busy : byWord["badRequest"]!;
}

/** The status is null where there was no answer at all. */
function kindOf({ codexErrorInfo: info, message }: TurnError): {
  word: string;
  status?: number | null;
} {
  if (info === null || typeof info === "string") {
    const wasCut = /stream disconnected|network error/i.test(message);
    return { word: info ?? "", ...(wasCut && { status: null }) };
  }
  const [word = "", details] = Object.entries(info)[0] ?? [];
  return { word, status: details?.httpStatusCode ?? null };
}

/** The provider's own words where codex passes on its whole answer. */
function plainWords(message: string): string {
  try {
    const { error } = JSON.parse(message) as { error?: { message?: string } };
    if (error?.message) return error.message.slice(0, longest);
  } catch {
    // It is no JSON.
  }
  return message.split("\n")[0]!.slice(0, longest);
}
