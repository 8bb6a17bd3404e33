// Receives a session's events in place of the session layer, keeps the last cursor, and checks what must
// hold in every session.
import assert from "node:assert/strict";
import type {
  AgentEvent,
  AgentSession,
  ResumableSession,
  Prompt,
  SessionSettings,
} from "@hawser/daemon/drivers/driver.ts";
import type { Step } from "@hawser/daemon/drivers/scripted/script.ts";
import { placeIn, promptOf, type Bench, type Place } from "./bench.ts";

export type Told<Type extends AgentEvent["type"]> = Extract<AgentEvent, { type: Type }>;

export const never = new AbortController().signal;

export class Recording {
  events: AgentEvent[] = [];
  cursor: string | null = null;
  turnId: string | null = null;
  messageId: string | null = null;
  session!: AgentSession;
  place: SessionSettings;
  #bench: Bench;
  #waiting = new Set<() => void>();

  constructor(bench: Bench, place: SessionSettings) {
    this.#bench = bench;
    this.place = place;
  }

  sink = (event: AgentEvent): void => {
    this.events.push(structuredClone(event));
    if (event.cursor !== undefined) this.cursor = event.cursor;
    if (event.type === "turn_ended" || event.type === "lost") this.turnId = null;
    for (const look of this.#waiting) look();
  };

  async prompt(steps: Step[], more: Partial<Prompt> = {}): Promise<Prompt> {
    const prompt = promptOf(steps, more);
    this.turnId = prompt.turnId;
    this.messageId = prompt.task.type === "summarize" ? null : prompt.messageId;
    try {
      await this.session.prompt(prompt, never);
    } catch (error) {
      this.turnId = null;
      throw error;
    }
    return prompt;
  }

  /** Waits for the first event that matches; earlier events count too. */
  async until<Found>(
    what: string,
    find: (event: AgentEvent) => Found | undefined | false,
    patienceMs = 60_000,
  ): Promise<Found> {
    for (const event of this.events) {
      const found = find(event);
      if (found) return found;
    }
    let seen = this.events.length;
    return new Promise((resolve, reject) => {
      const look = () => {
        for (; seen < this.events.length; seen++) {
          const found = find(this.events[seen]!);
          if (found) return finish(() => resolve(found));
        }
      };
      const late = () =>
        finish(() => reject(new Error(`No event: ${what}. Received:\n${this.describe()}`)));
      const timer = setTimeout(late, patienceMs);
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        settle();
      };
      this.#waiting.add(look);
      look();
    });
  }

  untilType<Type extends AgentEvent["type"]>(type: Type, patienceMs?: number): Promise<Told<Type>> {
    return this.until(
      type,
      (event) => (event.type === type ? (event as Told<Type>) : undefined),
      patienceMs,
    );
  }

  /** Plays a turn to its end, and returns its events. */
  async play(steps: Step[], more: Partial<Prompt> = {}): Promise<AgentEvent[]> {
    const from = this.events.length;
    await this.prompt(steps, more);
    await this.until("end of the turn", (event) => {
      return event.type === "turn_ended" && this.events.indexOf(event) >= from && event;
    });
    return this.events.slice(from);
  }

  /**
   * Plays a turn to its end and returns its requests. Answers each permission, and dismisses each question.
   */
  async playAnswering(
    steps: Step[],
    answer: (request: Told<"request">) => "once" | "reject",
    more: Partial<Prompt> = {},
  ): Promise<Told<"request">[]> {
    let seen = this.events.length;
    const requests: Told<"request">[] = [];
    await this.prompt(steps, more);
    for (;;) {
      const next = await this.until("request or end of the turn", (event) => {
        const isNew = this.events.indexOf(event) >= seen;
        return isNew && (event.type === "request" || event.type === "turn_ended") && event;
      });
      if (next.type === "turn_ended") return requests;
      seen = this.events.indexOf(next) + 1;
      requests.push(next);
      const isQuestion = "questions" in next.asked;
      const given = isQuestion ? { dismiss: true as const } : { permission: answer(next) };
      await this.session.answer(next.key, given, never);
    }
  }

  of<Type extends AgentEvent["type"]>(type: Type): Told<Type>[] {
    return this.events.filter((event): event is Told<Type> => event.type === type);
  }

  updates(): Told<"update">["update"][] {
    return this.of("update").map(({ update }) => update);
  }

  messages(): string[] {
    return this.updates().flatMap((update) =>
      update.sessionUpdate === "agent_message_chunk" ? [update.content.text] : [],
    );
  }

  kept(more: Partial<ResumableSession> = {}): ResumableSession {
    const open = new Set(this.of("request").map(({ key }) => key));
    for (const { key } of this.of("request_gone")) open.delete(key);
    return {
      ...this.place,
      handle: this.session.handle,
      cursor: this.cursor,
      turnId: this.turnId,
      messageId: this.turnId === null ? null : this.messageId,
      openRequests: this.turnId === null ? [] : [...open],
      ...more,
    };
  }

  /** Resumes the session with the driver that is open now. */
  async resume(more: Partial<ResumableSession> = {}): Promise<void> {
    this.session = await this.#bench.driver().resume(this.kept(more), this.sink, never);
  }

  describe(): string {
    return this.events.map((event) => JSON.stringify(event).slice(0, 300)).join("\n");
  }
}

export async function startSession(bench: Bench, more: Place = {}): Promise<Recording> {
  const recording = new Recording(bench, placeIn(bench.directory, more));
  recording.session = await bench.driver().start(recording.place, recording.sink, never);
  return recording;
}

/** Checks that no event came twice, and that the pieces of each text add up to it. */
export function assertWhole(recording: Recording): void {
  const seen = new Set<string>();
  for (const update of recording.updates()) {
    const id =
      "messageId" in update
        ? update.messageId
        : "toolCallId" in update
          ? `${update.sessionUpdate} ${update.toolCallId}`
          : undefined;
    if (id === undefined) continue;
    assert.ok(!seen.has(id), `${id} was reported twice:\n${recording.describe()}`);
    seen.add(id);
    if (update.sessionUpdate === "tool_call_update") {
      assert.ok(seen.has(`tool_call ${update.toolCallId}`), "A call ended that had not begun.");
    }
  }
}
