// Serves opencode to the clients of one exposure: judges each request, forwards what is allowed to the server
// that this daemon owns, and passes work to the session layer.
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { SessionMode } from "@hawser/contract";
import type { AgentServer } from "../../drivers/driver.ts";
import { isIdFor } from "../../drivers/opencode/message-id.ts";
import type { Log } from "../../log.ts";
import {
  answerEmpty,
  answerFailure,
  answerJson,
  endWith,
  readJson,
  RequestRefused,
  type Serve,
} from "../answer.ts";
import { createTurnstile } from "../turnstile.ts";
import { forward, gone, type Passing } from "../forward.ts";
import { cleanAnswer } from "./answers.ts";
import { filterEvents } from "./event-filter.ts";
import { judge, sessionIn, type Verdict } from "./judge.ts";
import { readCommand, readPrompt } from "./prompt-body.ts";
import type { ExposureReach, ReachedSession } from "./reach.ts";
import { lastMessage, type Turns } from "./turns.ts";

export interface ServeOptions {
  /** The server of opencode that this daemon owns; undefined if none runs. */
  server: () => AgentServer | undefined;
  reach: ExposureReach;
  turns: Turns;
  /** The widest mode of sessions that the organization allows. */
  highestMode: SessionMode | undefined;
  log: Log;
}

const largestBody = 16 * 2 ** 20;
/** Bodies that are read at the same time. The others wait, and their senders with them. */
const mostBodies = 4;
const mostShown = 50;

export function createServe(options: ServeOptions): Serve {
  const { server, reach, turns, log } = options;
  const atMost = createTurnstile(mostBodies);
  /** Prompts that clients show under ids of their own. */
  const shown: { messageId: string; shownAs: string }[] = [];

  async function serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const { ":method": method = "", ":path": target = "", ...others } = headers;
    const request = { method, target, headers: others };
    const named = sessionIn(request);
    if (named !== undefined) await reach.learn(named);
    const verdict = judge(request, reach);
    switch (verdict.do) {
      case "refuse":
        throw new RequestRefused(403, verdict.code, verdict.message);
      case "turn":
        return await work(stream, verdict);
      case "forward":
        stream.resume();
        return await pass(stream, verdict);
    }
  }

  async function pass(
    stream: ServerHttp2Stream,
    { path, headers, answer }: Extract<Verdict, { do: "forward" }>,
  ): Promise<void> {
    const current = server();
    if (!current) throw gone();
    const authorization = `Basic ${Buffer.from(`opencode:${current.password}`).toString("base64")}`;
    const sent = { ...headers, authorization, host: `127.0.0.1:${current.port}` };
    await forward(stream, current, { method: "GET", path, headers: sent }, passingOf(answer));
  }

  function passingOf(answer: Extract<Verdict, { do: "forward" }>["answer"]): Passing {
    if (answer === "unchanged") return { type: "unchanged" };
    if (answer === "events") {
      const through = (source: AsyncIterable<Buffer>) =>
        filterEvents(source, {
          reaches: reachesLater,
          onChild: (child) => reach.addChild(child),
          shownAs: (id) => shown.find(({ messageId }) => isIdFor(messageId, id))?.shownAs,
        });
      return { type: "filtered", through };
    }
    const limits = {
      directories: reach.directories,
      reaches: ({ id, parentID }: { id: string; parentID?: string | undefined }) =>
        reaches(id) || (parentID !== undefined && reaches(parentID)),
    };
    const change = (value: unknown) => cleanAnswer(answer, value, limits);
    return { type: "changed", change };
  }

  const reaches = (id: string) => reach.directoryOf(id) !== undefined;

  async function reachesLater(id: string): Promise<boolean> {
    if (!reaches(id)) await reach.learn(id);
    return reaches(id);
  }

  async function work(
    stream: ServerHttp2Stream,
    { task, sessionID }: Extract<Verdict, { do: "turn" }>,
  ): Promise<void> {
    const session = reach.find(sessionID);
    if (!session) {
      const message = "This is the session of a sub-agent, which only its agent prompts.";
      throw new RequestRefused(403, "forbidden_session", message);
    }
    if (task === "abort") {
      stream.resume();
      await turns.abort(session);
      return answerJson(stream, 200, true);
    }
    const body = await atMost(() => readJson(stream, largestBody));
    if (task === "summarize") {
      const { turnId } = await turns.summarize(session);
      return await answerLater(stream, session, turnId, async () => true);
    }
    const prompt = task === "command" ? readCommand(body) : readPrompt(body);
    const { turnId, messageId } = await turns.begin(session, prompt, options.highestMode);
    if (prompt.shownAs !== undefined) {
      shown.push({ messageId, shownAs: prompt.shownAs });
      if (shown.length > mostShown) shown.shift();
    }
    if (task === "prompt_async") return answerEmpty(stream);
    await answerLater(stream, session, turnId, async () => {
      const current = server();
      if (!current?.isListening()) throw gone();
      return await lastMessage(current, session, messageId);
    });
  }

  /** Begins the answer now, so that no one in between gives up on a long turn, and ends it with the turn. */
  async function answerLater(
    stream: ServerHttp2Stream,
    session: ReachedSession,
    turnId: string,
    read: () => Promise<unknown>,
  ): Promise<void> {
    if (stream.destroyed) return;
    stream.respond({
      ":status": 200,
      "content-type": "application/json",
      "cache-control": "no-store",
    });
    const leaving = new AbortController();
    stream.once("close", () => leaving.abort());
    await turns.untilOver(session, turnId, leaving.signal);
    const value = await read();
    if (value === undefined) throw new Error("The turn ended without a message.");
    if (!stream.destroyed) endWith(stream, JSON.stringify(value));
  }

  return (stream, headers) => {
    serve(stream, headers).catch((error: unknown) => answerFailure(stream, error, log));
  };
}
