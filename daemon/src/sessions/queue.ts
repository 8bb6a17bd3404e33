// The prompts of a session that wait for an earlier turn: reading and changing them. Each change is written in the
// commit of its command's outcome, together with its log entry, so the log alone says what waits, and in which order.
import type { HostQueue, PayloadOf } from "@hawser/host-protocol";
import { CommandRefusal } from "../command-refusal.ts";
import type { KeptPrompt } from "../journal/driven-sessions.ts";
import { holdsAfter, holdsOf } from "./holds.ts";
import { noteQueued, shownText, taskOf } from "./prompts.ts";
import { withdrawRequests } from "./requests.ts";
import { userIn, type Session } from "./session.ts";
import { requirePrompter } from "./sharing.ts";
import type { Person } from "./strangers.ts";
import { stopForNext } from "./turns.ts";

/** In UTF-16 units of a text. Twenty texts fit into one message to the service. */
const longestShown = 8_192;

type Changed = () => HostQueue;

/** Each function that changes the queue returns one that does so in the commit of the command's outcome. */
export interface Queue {
  list(wanted: PayloadOf<"list_queued_prompts">): HostQueue;
  update(wanted: PayloadOf<"update_queued_prompt">): Changed;
  hold(wanted: PayloadOf<"hold_queued_prompt">): Changed;
  move(wanted: PayloadOf<"move_queued_prompt">): Changed;
  remove(wanted: PayloadOf<"remove_queued_prompt">): Changed;
  sendNow(wanted: PayloadOf<"send_queued_prompt_now">): Changed;
}

export function createQueue(find: (sessionId: string) => Session): Queue {
  const change =
    <Wanted extends Which>(work: (session: Session, prompt: KeptPrompt, wanted: Wanted) => void) =>
    (wanted: Wanted): Changed =>
    () => {
      const session = find(wanted.sessionId);
      session.require("queue");
      requirePrompter(session, wanted.ownerId);
      work(session, waitingPrompt(session, wanted.messageId), wanted);
      session.afterwards(() => session.wake());
      return queueOf(session);
    };
  return {
    list({ sessionId }) {
      const session = find(sessionId);
      session.require("read");
      return queueOf(session);
    },
    update: change(updatePrompt),
    hold: change(holdPrompt),
    move: change(movePrompt),
    remove: change(removePrompt),
    sendNow: change(sendPromptNow),
  };
}

interface Which {
  sessionId: string;
  messageId: string;
  ownerId?: Person;
}

const journalOf = (session: Session) => session.host.journal.driven;
const newestSeq = (session: Session) => session.host.journal.log.lastSeq(session.id);
const byOf = ({ ownerId }: Which) => (ownerId ? userIn(ownerId) : null);

/** Without a prompt that is on its way to an agent that had nothing to do. */
const waitingIn = (session: Session) =>
  session.prompts.filter(({ state, startsAtOnce }) => state === "queued" && !startsAtOnce);

function waitingPrompt(session: Session, messageId: string): KeptPrompt {
  const found = waitingIn(session).find((prompt) => prompt.messageId === messageId);
  if (found) return found;
  throw new CommandRefusal(
    "not_found",
    `No prompt ${messageId} waits in this session: it has begun, or it was removed. list_queued_prompts shows those that wait.`,
  );
}

function queueOf(session: Session): HostQueue {
  const now = session.host.now();
  const prompts = waitingIn(session).map((prompt) => {
    const { messageId, turnId, by = null } = prompt;
    const text = shownText(prompt) ?? "";
    return {
      messageId,
      turnId,
      type: taskOf(prompt).type,
      text: text.slice(0, longestShown),
      isCut: text.length > longestShown,
      by,
      holds: holdsOf(prompt, now).map((hold) => ({
        by: hold.by,
        until: new Date(hold.until).toISOString(),
      })),
    };
  });
  return { version: newestSeq(session), prompts };
}

function updatePrompt(
  session: Session,
  prompt: KeptPrompt,
  wanted: PayloadOf<"update_queued_prompt">,
): void {
  const { turnId, messageId, changedSeq = 0 } = prompt;
  const { text, version } = wanted;
  if (taskOf(prompt).type !== "prompt") {
    const message = "Only the text of a prompt can be changed. Remove this one, and send another.";
    throw new CommandRefusal("invalid_input", message, "messageId");
  }
  // The same text again is no conflict, whoever wrote it.
  const isChanged = text !== prompt.text;
  if (isChanged && changedSeq > version) {
    throw new CommandRefusal(
      "prompt_changed",
      `The prompt was changed since version ${version} of the queue was read, so this text was not saved. list_queued_prompts shows the text as it is now.`,
    );
  }
  const holds = holdsAfter(prompt, byOf(wanted), false, session.host.now());
  const changed = { ...prompt, text, holds };
  if (isChanged) {
    session.note({ sessionUpdate: "prompt_changed", turnId, messageId, text }, turnId);
    changed.changedSeq = newestSeq(session);
  }
  journalOf(session).changePrompt(changed);
}

function holdPrompt(
  session: Session,
  prompt: KeptPrompt,
  wanted: PayloadOf<"hold_queued_prompt">,
): void {
  const holds = holdsAfter(prompt, byOf(wanted), wanted.held, session.host.now());
  journalOf(session).changePrompt({ ...prompt, holds });
}

function movePrompt(
  session: Session,
  prompt: KeptPrompt,
  { beforeMessageId }: PayloadOf<"move_queued_prompt">,
): void {
  if (beforeMessageId !== null) waitingPrompt(session, beforeMessageId);
  place(session, prompt, beforeMessageId);
}

/** Within a commit. No-op if the prompt is there already. */
function place(session: Session, prompt: KeptPrompt, beforeMessageId: string | null): void {
  const { turnId, messageId } = prompt;
  if (messageId === beforeMessageId) return;
  const queued = session.prompts.filter(({ state }) => state === "queued");
  const others = queued.filter((each) => each.messageId !== messageId);
  const found = others.findIndex((each) => each.messageId === beforeMessageId);
  const order = others.toSpliced(found === -1 ? others.length : found, 0, prompt);
  if (order.every((each, index) => each.turnId === queued[index]!.turnId)) return;
  journalOf(session).orderPrompts(
    session.id,
    order.map((each) => each.turnId),
  );
  session.note({ sessionUpdate: "prompt_moved", turnId, messageId, beforeMessageId }, turnId);
}

function removePrompt(session: Session, { turnId, messageId }: KeptPrompt): void {
  journalOf(session).removePrompt(turnId);
  const reason = "It was removed from the queue.";
  session.note(
    { sessionUpdate: "prompt_dropped", turnId, messageId, reason, cause: "removed" },
    turnId,
  );
}

function sendPromptNow(session: Session, prompt: KeptPrompt, wanted: Which): void {
  const now = session.host.now();
  if (holdsOf(prompt, now).some(({ by }) => by !== byOf(wanted))) {
    throw new CommandRefusal(
      "prompt_held",
      "Somebody else edits this prompt, so it was not sent. Try again when they have finished.",
    );
  }
  const driven = journalOf(session);
  // The agent does not have it yet: it waits for the turn that now comes before it.
  const early = session.prompts.find(
    ({ state, startsAtOnce }) => state === "queued" && startsAtOnce,
  );
  if (early) {
    driven.changePrompt({ ...early, startsAtOnce: false });
    noteQueued(session, early);
  }
  const [first] = waitingIn(session);
  place(session, prompt, first!.messageId);
  const { turnId } = session;
  // Kept until the turn has ended, because a daemon that is killed meanwhile must still stop it.
  driven.changePrompt({ ...prompt, holds: [], ...(turnId !== null && { stopsTurnId: turnId }) });
  if (turnId === null) return;
  withdrawRequests(session, "The turn was stopped.");
  session.afterwards(() => stopForNext(session));
}
