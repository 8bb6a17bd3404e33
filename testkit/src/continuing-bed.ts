// Turns that a used-up quota ended, on a session bed: sessions with such a turn, and nodes that continue them.
import { parseId, type AgentKind } from "@hawser/contract";
import { createContinuationSweep } from "@hawser/control-plane/continuations/sweep.ts";
import type { Answer, Call } from "@hawser/control-plane/dispatch/dispatcher.ts";
import { createLog } from "@hawser/control-plane/log.ts";
import { openSessionBed, type AskedCommand, type SessionBed } from "./session-bed.ts";

/** Called instead of a node's dispatcher; `dispatch` makes the call. */
type Around = (action: Call["action"], dispatch: () => Promise<Answer>) => Promise<Answer>;

export interface ContinuingBed extends AsyncDisposable {
  bed: SessionBed;
  node: ReturnType<SessionBed["addNode"]>;
  /** Sends a prompt to a new session. Its turn is `t1`. */
  startTurn(columns?: Record<string, string>, key?: string): Promise<string>;
  /** Reports that the quota was used up in a turn of the session. */
  useUp(sessionId: string, turnId?: string): Promise<void>;
  /** A further node, which works on every turn that waits for one. */
  addSweep(around?: Around): { work(): Promise<void>; pickUp(): Promise<void> };
  /** Ends the leases of all nodes, as time does after they have died, and lets every turn be tried now. */
  endLeases(): Promise<void>;
  /** Lets this much time pass. */
  age(minutes: number): Promise<void>;
  setChain(...kinds: AgentKind[]): Promise<void>;
  setSetting(isOn: boolean): Promise<void>;
  asked(command: "fork_session" | "send_prompt"): AskedCommand[];
  /** Forgets what was asked, and lets the host accept everything. */
  clear(): Promise<void>;
}

const placed = {
  directory: "/srv/fork",
  worktreeBranch: "hawser/fork-1",
  model: null,
  capabilities: [],
};

export async function openContinuingBed(): Promise<ContinuingBed> {
  const bed = await openSessionBed();
  const node = bed.addNode();
  const sweeps: Disposable[] = [];
  const instance = parseId("instance", bed.instanceId);
  const all: ContinuingBed = {
    bed,
    node,
    async startTurn(columns = {}, key = bed.organization.keys.member) {
      const sessionId = await bed.addSession(columns);
      await node.result("send_prompt", { sessionId, text: "Do it." }, { key });
      bed.asked.length = 0;
      return sessionId;
    },
    async useUp(sessionId, turnId = "t1") {
      await bed.report(
        sessionId,
        { sessionUpdate: "turn_started", turnId, messageId: "m1", model: null, agent: null },
        {
          sessionUpdate: "turn_finished",
          turnId,
          outcome: "failed",
          reason: "The account has reached its usage limit.",
          cause: "quota",
        },
      );
    },
    addSweep(around = (_action, dispatch) => dispatch()) {
      const { dispatcher } = bed.addNode({ deadlineMs: 20_000 });
      const sweep = createContinuationSweep({
        system: bed.service.database.system,
        nodeId: `node ${sweeps.length + 1}`,
        callerOfKey: bed.authenticator.callerOfKey,
        dispatchAs: (caller, call) =>
          around(call.action, () => dispatcher.dispatchAs(caller, call)),
        viewers: bed.viewers,
        log: createLog("silent"),
      });
      sweeps.push(sweep);
      return {
        pickUp: () => sweep.pickUp(),
        async work() {
          await sweep.pickUp();
          await sweep.settled();
        },
      };
    },
    async endLeases() {
      await bed.sql(
        `UPDATE turn_continuations SET lease_until = hawser_now() - interval '1 second', try_at = hawser_now();
         UPDATE idempotency SET lease_until = hawser_now() - interval '1 second' WHERE state = 'running'`,
      );
    },
    async age(minutes) {
      await bed.sql(
        `UPDATE turn_continuations
            SET created_at = created_at - make_interval(mins => $1), try_at = hawser_now(),
                first_asked_at = first_asked_at - make_interval(mins => $1)`,
        [minutes],
      );
    },
    async setChain(...kinds) {
      const chain = kinds.map((kind) => ({ kind, providerId: null, modelId: null }));
      await bed.sql(`UPDATE instances SET fallback_chain = $1 WHERE instance_id = $2`, [
        JSON.stringify(chain),
        instance,
      ]);
    },
    async setSetting(isOn) {
      await bed.sql(`UPDATE organizations SET fallback_mid_turn = $1`, [isOn]);
    },
    asked: (command) => bed.asked.filter((each) => each.command === command),
    async clear() {
      bed.asked.length = 0;
      bed.host.fork_session = () => placed;
      bed.host.send_prompt = () => ({
        turnId: "t1",
        messageId: "m1",
        queued: false,
        model: null,
      });
      await bed.sql(
        `DELETE FROM turn_continuations; DELETE FROM turn_keys; UPDATE sessions SET deleted_at = hawser_now();
         UPDATE instances SET status = 'online', status_reason = NULL`,
      );
      await all.setSetting(true);
      await all.setChain("codex", "claude_code", "opencode");
    },
    async [Symbol.asyncDispose]() {
      for (const sweep of sweeps) sweep[Symbol.dispose]();
      await bed[Symbol.asyncDispose]();
    },
  };
  return all;
}
