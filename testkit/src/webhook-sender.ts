// Plays systems that send events to triggers: GitHub, and any sender of Standard Webhooks. Makes the headers and the
// body of a delivery, signed with the secret of the trigger.
import { createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Webhook } from "standardwebhooks";

export interface SignedDelivery {
  body: string;
  headers: Record<string, string>;
}

export function githubDelivery(
  secret: string,
  event: string,
  payload: object,
  id: string = randomUUID(),
): SignedDelivery {
  const body = JSON.stringify(payload);
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  return {
    body,
    headers: {
      "content-type": "application/json",
      "user-agent": "GitHub-Hookshot/0000000",
      "x-github-delivery": id,
      "x-github-event": event,
      "x-hub-signature-256": `sha256=${signature}`,
    },
  };
}

export function standardDelivery(
  secret: string,
  payload: unknown,
  { id = randomUUID(), at = new Date() }: { id?: string; at?: Date } = {},
): SignedDelivery {
  const body = JSON.stringify(payload);
  return {
    body,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(secret).sign(id, at, body),
    },
  };
}

/**
 * Sends the headers of a delivery and one byte of its body, as many times as asked, each on its own connection. Returns
 * the statuses that are answered.
 */
export async function sendSlowly(
  address: string,
  headers: Record<string, string>,
  count: number,
): Promise<Promise<string>[]> {
  const { hostname, port, pathname } = new URL(address);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`POST ${pathname} HTTP/1.1`, "Host: x", "Transfer-Encoding: chunked", ...lines];
  const replies: Promise<string>[] = [];
  for (let i = 0; i < count; i++) {
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    socket.write(`${head.join("\r\n")}\r\n\r\n1\r\n{\r\n`);
    replies.push(readStatus(socket));
  }
  return replies;
}

async function readStatus(socket: Socket): Promise<string> {
  const [data] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return data.toString().split(" ")[1]!;
}

let numbers = 0;
const repository = { full_name: "acme/widget", private: true };
const somebody = { login: "octocat", id: 1, type: "User" };
const issue = () => ({
  number: ++numbers,
  title: "The button is blue",
  body: "It should be green.",
  html_url: `https://github.example/acme/widget/issues/${numbers}`,
  user: { login: "reporter" },
});
const pull = () => ({ ...issue(), head: { ref: "green-button", sha: "c0ffee".padEnd(40, "0") } });
const check = (conclusion: string) => ({
  name: "tests",
  conclusion,
  head_branch: "green-button",
  head_sha: "c0ffee".padEnd(40, "0"),
  html_url: "https://github.example/acme/widget/runs/7",
});
const common = { repository, sender: somebody };

/** Payloads as GitHub sends them, shortened. Each one differs from those before. */
export const githubPayloads = {
  comment: (body: string, author_association = "MEMBER") => ({
    action: "created",
    issue: issue(),
    comment: { body, author_association, html_url: "https://github.example/c/1", user: somebody },
    ...common,
  }),
  issueOpened: (changes: object = {}) => ({
    action: "opened",
    issue: { ...issue(), ...changes },
    ...common,
  }),
  issueLabeled: (name: string) => ({
    action: "labeled",
    issue: issue(),
    label: { name },
    ...common,
  }),
  review: (body: string | null) => ({
    action: "submitted",
    review: {
      state: "changes_requested",
      body,
      html_url: "https://github.example/r/1",
      user: somebody,
    },
    pull_request: pull(),
    ...common,
  }),
  checkRun: (conclusion: string) => ({
    action: "completed",
    check_run: {
      ...check(conclusion),
      check_suite: { head_branch: "green-button" },
      id: ++numbers,
    },
    ...common,
  }),
  checkSuite: (conclusion: string) => ({
    action: "completed",
    check_suite: { ...check(conclusion), id: ++numbers },
    ...common,
  }),
  workflowRun: (conclusion: string) => ({
    action: "completed",
    workflow_run: { ...check(conclusion), id: ++numbers },
    ...common,
  }),
};
