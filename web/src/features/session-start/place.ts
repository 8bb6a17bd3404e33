// Where a new session would work: what is chosen before the person chooses.
import type { Instance, Session, SessionOverview } from "@hawser/client";
import type { Result } from "../../calls/call.ts";

type Root = Result<"list_directories">["roots"][number];
export type Directory = Root["children"][number];
type Kind = Session["agentKind"];

/** A directory of the host, or a repository that is cloned for the session. */
export type Source = { directory: Directory } | { clone: string };

/** The wanted host, that of the newest session, or the first one; undefined if none is online. */
export function presetHost(
  hosts: readonly Instance[],
  sessions: readonly Pick<SessionOverview, "instanceId">[],
  wanted: string | undefined,
): Instance | undefined {
  const online = hosts.filter(({ status }) => status === "online");
  const find = (id: string | undefined) => online.find(({ instanceId }) => instanceId === id);
  return find(wanted) ?? find(sessions[0]?.instanceId) ?? online[0];
}

/** Repositories first, then the other directories, each as the host lists it. */
export function directoriesOf(roots: readonly Root[]): Directory[] {
  const all = roots.flatMap((root) => {
    const { path, isGitRepository, branch, remote } = root;
    const own = { path, isGitRepository, branch, remote };
    if (root.type === "repository") return [own];
    // A folder itself is a place of its own only if it has no projects.
    return root.children.length > 0 ? root.children : [own];
  });
  const found = all.filter(({ path }, at) => at === all.findIndex((each) => each.path === path));
  return [
    ...found.filter(({ isGitRepository }) => isGitRepository),
    ...found.filter(({ isGitRepository }) => !isGitRepository),
  ];
}

/** The directory of the newest session on the host, if it is listed, or else the first one. */
export function presetDirectory(
  directories: readonly Directory[],
  sessions: readonly Pick<SessionOverview, "instanceId" | "directory">[],
  instanceId: string,
): Directory | undefined {
  const last = sessions.find((session) => session.instanceId === instanceId)?.directory;
  return directories.find(({ path }) => path === last) ?? directories[0];
}

const order: readonly Kind[] = ["opencode", "claude_code", "codex"];

/** The kind that the host uses if none is named: the first of its fallback chain, or else the first that is ready. */
export function defaultKind({
  fallbackChain,
  agents,
}: Pick<Result<"get_instance">, "fallbackChain" | "agents">): Kind {
  const ready = order.find((kind) => agents.some((each) => each.kind === kind && each.ready));
  return fallbackChain[0]?.kind ?? ready ?? order[0]!;
}

/** What start_session takes: owner/name, or an address. */
export function cloneOf(text: string): { repo: string } | { url: string } {
  const named = text.trim();
  return /^[\w.-]+\/[\w.-]+$/.test(named) ? { repo: named } : { url: named };
}

/** The last two parts of a directory, which tell most apart. */
export const shortPath = (path: string): string => {
  const parts = path.split("/").filter(Boolean);
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : path;
};
