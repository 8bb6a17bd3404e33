// The load generator. It is a separate process, so that it competes with both sides equally. It accepts
// one job at a time over IPC, answers each, and ends with its parent.
import { Agent, request } from "node:http";

export interface LoadJob {
  url: string;
  headers: Record<string, string>;
  /** Sent in turn. */
  bodies: readonly string[];
  connections: number;
  /** Either a duration or a number of requests. */
  seconds?: number;
  requests?: number;
}

export interface LoadResult {
  requests: number;
  seconds: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

async function run(job: LoadJob): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: job.connections });
  const startedAt = performance.now();
  const deadline = job.seconds === undefined ? Infinity : startedAt + job.seconds * 1000;
  let left = job.requests ?? Infinity;
  const latencies: number[] = [];
  let sent = 0;
  const connection = async () => {
    for (let at = performance.now(); at < deadline && left > 0;) {
      left -= 1;
      await call(job, job.bodies[sent++ % job.bodies.length]!, agent);
      const done = performance.now();
      latencies.push(done - at);
      at = done;
    }
  };
  await Promise.all(Array.from({ length: job.connections }, connection));
  const seconds = (performance.now() - startedAt) / 1000;
  agent.destroy();
  latencies.sort((a, b) => a - b);
  return {
    requests: latencies.length,
    seconds,
    perSecond: latencies.length / seconds,
    p50Ms: latencies[Math.floor(latencies.length * 0.5)] ?? 0,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
  };
}

/** One POST, read completely. Any status but 200 fails the job: a refusal is quick and measures nothing. */
function call({ url, headers }: LoadJob, body: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent, headers }, (response) => {
      response.on("error", reject);
      response.resume();
      response.on("end", () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`${url} answered ${response.statusCode}`));
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

process.on("message", (job: LoadJob) => {
  run(job).then(
    (result) => process.send!({ result }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
