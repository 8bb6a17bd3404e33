// What a request card shows: open, sending, or one of its six ends. An end is drawn from what the service has recorded,
// never from the press of a button.
import type { Request } from "@hawser/client";
import { isRefused, type Refused } from "../../calls/refused.ts";
import { words } from "../../words/words.ts";

/** Where the agent works, as far as the page knows it. */
export interface Where {
  agent: string;
  host: string | undefined;
  /** Where the session was started. */
  directory: string | undefined;
  /** Its agent works in a worktree of that directory. */
  isWorktree: boolean;
  /** Undefined if it is not known. */
  isReachable: boolean | undefined;
}

export type PermissionAnswer = "once" | "always" | "reject";

export type Answer = { permission: PermissionAnswer } | { labels: string[][] } | { dismiss: true };

/** What became of the answer that was given on this page. */
export type Press =
  | { is: "sending"; answer: Answer; isSlow: boolean }
  /** `record`: the request as it was read afterwards. */
  | { is: "ended"; answer: Answer; status: string; record: Request | undefined }
  | { is: "failed"; answer: Answer; error: unknown };

export interface End {
  /** 1 answered, 2 already resolved, 3 undeliverable, 4 withdrawn, 5 expired, 6 refused or gone. */
  number: 1 | 2 | 3 | 4 | 5 | 6;
  text: string;
  canSendAgain: boolean;
  /** The agent took the answer, so the card leaves by itself. */
  leaves: boolean;
}

export type CardState =
  | { is: "open"; problem: string | undefined }
  | { is: "sending"; answer: Answer; isSlow: boolean }
  | { is: "ended"; end: End };

const end = (number: End["number"], text: string, more: Partial<End> = {}): CardState => ({
  is: "ended",
  end: { number, text, canSendAgain: false, leaves: false, ...more },
});

/** `request` is the newest record that was read; `press` what was answered here. */
export function cardState(request: Request, press: Press | undefined): CardState {
  if (press?.is === "sending") return { is: "sending", answer: press.answer, isSlow: press.isSlow };
  if (press?.is === "failed") return failed(press.error);
  if (press?.is === "ended") {
    if (press.status === "answered") return taken(press.answer);
    if (press.status === "already_resolved") return resolvedElsewhere(press.record, true);
    return end(3, words("request.undeliverable"), { canSendAgain: request.answerable });
  }
  if (request.status === "undeliverable") {
    return request.answerable
      ? { is: "open", problem: words("request.undeliverable") }
      : end(3, words("request.undeliverable"));
  }
  if (request.status === "pending") return { is: "open", problem: undefined };
  return resolvedElsewhere(request, false);
}

function taken(answer: Answer): CardState {
  if ("labels" in answer) return end(1, words("request.taken.labels"), { leaves: true });
  const isRejected = "dismiss" in answer || answer.permission === "reject";
  if (isRejected) return end(1, words("request.taken.reject"), { leaves: true });
  return end(1, words(`request.taken.${answer.permission as "once" | "always"}`), { leaves: true });
}

/** Somebody else answered, or the agent no longer asks. `mine`: an answer of this page was too late. */
function resolvedElsewhere(record: Request | undefined, mine: boolean): CardState {
  if (record?.status === "withdrawn") return end(4, words("request.withdrawn"));
  if (record?.status === "expired") return end(5, words("request.expired"));
  const unused = mine ? ` ${words("request.unused")}` : "";
  if (!record || record.status !== "answered") return end(2, words("request.resolved") + unused);
  const what = answerWords(record);
  const { answeredBy } = record;
  if (answeredBy === null) return end(2, words("request.on_host", { what }) + unused);
  const who = answeredBy.name ?? words("request.somebody");
  return end(2, words("request.first", { who, what }) + unused);
}

function failed(error: unknown): CardState {
  if (isRefused(error, "host_refused")) {
    return end(6, words("request.refused", { reason: (error as Refused).message }));
  }
  if (isRefused(error, "not_found")) return end(6, words("request.gone"));
  // The record is as it was, so the buttons are there again.
  const message = error instanceof Error ? error.message : String(error);
  return { is: "open", problem: message };
}

/** What a record says was answered, in one word. */
function answerWords({ answer, answers }: Request): string {
  if (answers) return answers.flat().join(", ");
  if (answer === "reject") return words("request.answer.reject");
  return words(answer === "always" ? "request.answer.always" : "request.answer.once");
}

/** The card's title: "Claude Code wants to run a command". */
export function titleOf(request: Request, agent: string): string {
  const { permission, questions } = request;
  if (!permission)
    return questions?.length === 1 ? questions[0]!.question : words("request.asks", { agent });
  const [first = "", ...rest] = permission.title;
  // A title that begins with a verb continues the sentence.
  if (
    /^(?:Run|Change|Read|Edit|Write|Fetch|Start|Use|Search|Delete|Move|Open) /.test(
      permission.title,
    )
  ) {
    return words("request.wants", { agent, what: first.toLowerCase() + rest.join("") });
  }
  return words("request.asks_for", { agent, title: permission.title });
}
