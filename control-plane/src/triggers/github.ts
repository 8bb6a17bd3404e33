// What a delivery of GitHub says: whether it starts a run of a trigger, and the part of it that the session sees.
import type { TriggerEvent } from "@hawser/contract";
import { z } from "zod";
import { withPlainLines } from "./untrusted.ts";

export interface Filter {
  events: readonly TriggerEvent[];
  commandWord: string;
}

export type Read = { text: string } | { ignored: string };

const Login = z.object({ login: z.string() }).nullish();
const Text = z.string().nullish();
const Issue = z.object({
  number: z.number(),
  title: z.string(),
  body: Text,
  html_url: z.string(),
  user: Login,
});

/** The parts of GitHub's payloads that are read. Each is there in some events only. */
const Payload = z.object({
  action: Text,
  repository: z.object({ full_name: z.string() }).nullish(),
  sender: Login,
  label: z.object({ name: z.string() }).nullish(),
  issue: Issue.nullish(),
  comment: z
    .object({ body: z.string(), html_url: z.string(), author_association: z.string(), user: Login })
    .nullish(),
  review: z.object({ state: z.string(), body: Text, html_url: z.string(), user: Login }).nullish(),
  pull_request: Issue.extend({ head: z.object({ ref: z.string(), sha: z.string() }) }).nullish(),
  check_run: z
    .object({
      name: z.string(),
      conclusion: Text,
      html_url: Text,
      head_sha: z.string(),
      check_suite: z.object({ head_branch: Text }).nullish(),
    })
    .nullish(),
  check_suite: z
    .object({ conclusion: Text, head_branch: Text, head_sha: z.string(), url: Text })
    .nullish(),
  workflow_run: z
    .object({
      name: Text,
      conclusion: Text,
      head_branch: Text,
      head_sha: z.string(),
      html_url: z.string(),
    })
    .nullish(),
});
type Payload = z.infer<typeof Payload>;

/** Parts of an event, in the order in which the session sees them. */
type Part = [name: string, value: string | number | null | undefined];
type Known = { event: TriggerEvent; parts: Part[] } | { ignored: string };

/** Who may start a run with a comment: people who can write to the repository, or who belong to its organization. */
const trustedAuthors = ["OWNER", "MEMBER", "COLLABORATOR"];
const failures = ["failure", "timed_out", "startup_failure"];

/** `name`: the header X-GitHub-Event. Undefined if the payload is not one of GitHub's. */
export function readGithubEvent(name: string, body: unknown, filter: Filter): Read | undefined {
  const parsed = Payload.safeParse(body);
  if (!parsed.success) return undefined;
  const reader = Object.hasOwn(readers, name) ? readers[name] : undefined;
  const known = reader?.(parsed.data, filter) ?? {
    ignored: "No trigger is started by an event of this type.",
  };
  if ("ignored" in known) return known;
  const { event, parts } = known;
  if (!filter.events.includes(event)) {
    return { ignored: `The trigger's events do not contain ${event}.` };
  }
  const { repository, sender } = parsed.data;
  return {
    text: textOf([
      ["event", event],
      ["repository", repository?.full_name],
      ["sender", sender?.login],
      ...parts,
    ]),
  };
}

const noSuchAction: Known = { ignored: "This action of the event starts no run." };

const readers: Record<string, (payload: Payload, filter: Filter) => Known> = {
  issues({ action, issue, label }) {
    if (!issue || (action !== "opened" && action !== "labeled")) return noSuchAction;
    const event = action === "opened" ? "issue_opened" : "issue_labeled";
    return { event, parts: [["label", label?.name], ...issueParts(issue)] };
  },
  issue_comment({ action, issue, comment }, { commandWord }) {
    if (!issue || !comment || action !== "created") return noSuchAction;
    if (!trustedAuthors.includes(comment.author_association)) {
      return {
        ignored: "The author of the comment is no owner, member or collaborator of the repository.",
      };
    }
    if (!hasCommand(comment.body, commandWord)) {
      return { ignored: `No line of the comment begins with ${commandWord}.` };
    }
    const parts: Part[] = [
      ["comment by", comment.user?.login],
      ["comment url", comment.html_url],
      ["comment", comment.body],
    ];
    return { event: "comment", parts: [...parts, ...issueParts(issue)] };
  },
  pull_request_review({ action, review, pull_request: pull }) {
    if (!review || !pull || action !== "submitted") return noSuchAction;
    const parts: Part[] = [
      ["review by", review.user?.login],
      ["review url", review.html_url],
      ["review state", review.state],
      ["review", review.body],
      ["head branch", pull.head.ref],
      ["head commit", pull.head.sha],
    ];
    return { event: "review", parts: [...parts, ...issueParts(pull)] };
  },
  check_run({ action, check_run: run }) {
    return failed(action, run && { ...run, head_branch: run.check_suite?.head_branch });
  },
  check_suite: ({ action, check_suite: suite }) => failed(action, suite),
  workflow_run: ({ action, workflow_run: run }) => failed(action, run),
};

const issueParts = ({ number, title, user, html_url, body }: z.infer<typeof Issue>): Part[] => [
  ["number", number],
  ["title", title],
  ["author", user?.login],
  ["url", html_url],
  ["body", body],
];

interface Check {
  name?: string | null | undefined;
  conclusion?: string | null | undefined;
  head_branch?: string | null | undefined;
  head_sha: string;
  html_url?: string | null | undefined;
  url?: string | null | undefined;
}

function failed(action: string | null | undefined, check: Check | null | undefined): Known {
  if (!check || action !== "completed") return noSuchAction;
  if (!failures.includes(check.conclusion ?? "")) return { ignored: "The check did not fail." };
  return {
    event: "check_failed",
    parts: [
      ["check", check.name],
      ["conclusion", check.conclusion],
      ["head branch", check.head_branch],
      ["head commit", check.head_sha],
      ["url", check.html_url ?? check.url],
    ],
  };
}

/** The word alone, or followed by a space. A quoted line begins with `>`, so it does not count. */
const hasCommand = (comment: string, word: string) =>
  comment.split(/\r?\n/).some((line) => line === word || /^\s/.test(restAfter(line, word)));

const restAfter = (line: string, word: string) =>
  line.startsWith(word) ? line.slice(word.length) : "";

/**
 * One part a line. A part with several lines stands below its name, each of its lines after spaces: no line of it can
 * pass as another part.
 */
function textOf(parts: Part[]): string {
  return parts
    .flatMap(([name, value]) =>
      value === undefined || value === null || value === ""
        ? []
        : [{ name, lines: withPlainLines(String(value)).split("\n") }],
    )
    .map(({ name, lines }) =>
      lines.length > 1
        ? [`${name}:`, ...lines.map((line) => `  ${line}`)].join("\n")
        : `${name}: ${lines[0]}`,
    )
    .join("\n");
}
