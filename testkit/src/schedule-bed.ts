// Scheduled prompts on a session bed whose clock stands still until a test sets it. No sweep runs: rows of runs are
// inserted as the sweep would have made them.
import {
  formatId,
  parseId,
  type ActionName,
  type InputOf,
  type ResultOf,
  type ScheduleRecord,
  type registry,
} from "@hawser/contract";
import { stopClock } from "./clock.ts";
import { openSessionBed, type SessionBed } from "./session-bed.ts";

interface Options {
  key?: string;
}

export interface ScheduleBed extends AsyncDisposable {
  bed: SessionBed;
  node: ReturnType<SessionBed["addNode"]>;
  /** Throws a refusal. */
  call<Name extends ActionName>(
    action: Name,
    body: InputOf<(typeof registry)[Name]>,
    options?: Options,
  ): Promise<ResultOf<(typeof registry)[Name]>>;
  /** A body that create_scheduled_prompt accepts. */
  body: InputOf<(typeof registry)["create_scheduled_prompt"]>;
  create(
    changes?: Partial<InputOf<(typeof registry)["create_scheduled_prompt"]>>,
    options?: Options,
  ): Promise<ScheduleRecord>;
  read(scheduleId: string): Promise<ScheduleRecord>;
  /**
   * Inserts a run as the sweep claims it, with further columns. Returns its id. A stopped clock advances by a
   * second, so that the ids of runs sort.
   */
  claim(scheduleId: string, runAt: string, columns?: Record<string, string>): Promise<string>;
  setClock(instant: string): Promise<void>;
}

export async function openScheduleBed(): Promise<ScheduleBed> {
  const bed = await openSessionBed();
  const node = bed.addNode();
  const body: ScheduleBed["body"] = {
    prompt: "go",
    instanceIds: [bed.instanceId],
    frequency: "daily",
    startAt: "2100-01-01T00:00:00Z",
    directory: "/srv/code",
  };
  let now: number | undefined;
  const setClock = async (instant: string | number) => {
    now = new Date(instant).getTime();
    await stopClock(bed.service.url, new Date(now).toISOString());
  };
  const call: ScheduleBed["call"] = async (action, input, options) =>
    (await node.result(action, input, options)) as never;
  return {
    bed,
    node,
    call,
    body,
    create: (changes, options) => call("create_scheduled_prompt", { ...body, ...changes }, options),
    async read(scheduleId) {
      const { schedules } = await call("list_scheduled_prompts", {});
      return schedules.find((each) => each.scheduleId === scheduleId)!;
    },
    async claim(scheduleId, runAt, columns = {}) {
      if (now !== undefined) await setClock(now + 1_000);
      const names = Object.keys(columns).map((name) => `, ${name}`);
      const [row] = await bed.sql<{ run_id: string }>(
        `INSERT INTO schedule_runs (organization_id, schedule_id, run_at, plan, api_key_id${names.join("")})
         SELECT organization_id, schedule_id, $2, '{"isRequested": false}', api_key_id${names.map((_, at) => `, $${at + 3}`).join("")}
           FROM schedules WHERE schedule_id = $1 RETURNING run_id`,
        [parseId("schedule", scheduleId), runAt, ...Object.values(columns)],
      );
      return formatId("run", row!.run_id);
    },
    setClock,
    [Symbol.asyncDispose]: () => bed[Symbol.asyncDispose](),
  };
}
