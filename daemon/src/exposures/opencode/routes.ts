// Every route of the opencode version that is shipped, and what an exposure may do with it. What is not in the
// list below is refused, also routes of a newer opencode. A test compares the lists with the document that the
// real server describes itself with.

/**
 * - session: read, with a session that the exposure reaches in its path.
 * - directory: read, in a directory that the exposure reaches.
 * - stream: events, of which the client gets those of its sessions.
 * - turn: work for a session. The daemon's session layer carries it out, and opencode never sees the request.
 * - absent: a newer interface that the web app tries first. Answered with the page, as an opencode without it does.
 * - page: the web app's own files.
 */
export type Route =
  | { class: "session"; query: readonly string[] }
  | { class: "directory"; query: readonly string[]; answer: Answer }
  | { class: "stream" }
  | { class: "turn"; task: Task }
  | { class: "absent"; query: readonly string[] }
  /** `directory`: the page is about this directory, and about a session in it if there is one. */
  | { class: "page"; directory: string | undefined };

export type Task = "message" | "prompt_async" | "command" | "summarize" | "abort";

/** How an answer is cleaned: sessions that the exposure does not reach, and secrets, are removed. */
export type Answer =
  | "unchanged"
  | "sessions"
  | "statuses"
  | "requests"
  | "config"
  | "providers"
  | "project"
  | "projects"
  | "agents";

/** Names of query parameters besides `directory`. Any other parameter is refused. */
const inSession = (...query: string[]): Route => ({ class: "session", query });
const inDirectory = (answer: Answer = "unchanged", ...query: string[]): Route => ({
  class: "directory",
  query,
  answer,
});
const turn = (task: Task): Route => ({ class: "turn", task });

export const allowed: Readonly<Record<string, Route>> = {
  "GET /session/{sessionID}": inSession(),
  "GET /session/{sessionID}/children": inSession(),
  "GET /session/{sessionID}/todo": inSession(),
  "GET /session/{sessionID}/diff": inSession("messageID"),
  "GET /session/{sessionID}/message": inSession("limit", "before"),
  "GET /session/{sessionID}/message/{messageID}": inSession(),

  "POST /session/{sessionID}/message": turn("message"),
  "POST /session/{sessionID}/prompt_async": turn("prompt_async"),
  "POST /session/{sessionID}/command": turn("command"),
  "POST /session/{sessionID}/summarize": turn("summarize"),
  "POST /session/{sessionID}/abort": turn("abort"),

  "GET /session": inDirectory("sessions", "path", "roots", "start", "search", "limit"),
  "GET /session/status": inDirectory("statuses"),
  // Shown, so that a client sees what its agent waits for. Answers are given by an action.
  "GET /permission": inDirectory("requests"),
  "GET /question": inDirectory("requests"),
  // The web app asks for it first. It contains the version and nothing else.
  "GET /global/health": inDirectory(),
  "GET /path": inDirectory(),
  "GET /project": inDirectory("projects"),
  "GET /project/current": inDirectory("project"),
  "GET /config": inDirectory("config"),
  "GET /config/providers": inDirectory("providers"),
  "GET /provider": inDirectory("providers"),
  "GET /provider/auth": inDirectory(),
  "GET /agent": inDirectory("agents"),
  "GET /command": inDirectory(),
  "GET /lsp": inDirectory(),
  "GET /formatter": inDirectory(),
  "GET /mcp": inDirectory(),
  "GET /vcs": inDirectory(),
  // Names of files. Their contents are for the agent, which reads them by the host's policy.
  "GET /find/file": inDirectory("unchanged", "query", "dirs", "type", "limit"),

  "GET /global/config": inDirectory("config"),
  "GET /api/health": { class: "absent", query: [] },
  "GET /api/session": { class: "absent", query: ["limit", "order"] },
  "GET /api/reference": { class: "absent", query: ["location%5Bdirectory%5D"] },
  "GET /experimental/resource": { class: "absent", query: [] },

  "GET /event": { class: "stream" },
  "GET /global/event": { class: "stream" },
};

/**
 * Routes that are refused, for one of these reasons:
 *
 * - They change the host, its settings or logins, or other sessions.
 * - They run programs without the policy engine: shells, terminals, git with the repository's settings.
 * - They read files, which an agent may only do by the policy.
 * - They answer requests for permission, which only an action of Hawser may.
 * - An action of Hawser does the same, with a record: starting, forking, renaming, reverting and deleting sessions.
 * - The terminal client works without them, and each would be one more to guard: everything below /api.
 */
export const denied: readonly string[] = [
  "GET /api/agent",
  "GET /api/command",
  "DELETE PATCH /api/credential/{credentialID}",
  "GET /api/event",
  "GET /api/fs/find",
  "GET /api/fs/list",
  "GET /api/fs/read/*",
  "GET /api/integration",
  "DELETE GET /api/integration/attempt/{attemptID}",
  "POST /api/integration/attempt/{attemptID}/complete",
  "GET /api/integration/{integrationID}",
  "POST /api/integration/{integrationID}/connect/key",
  "POST /api/integration/{integrationID}/connect/oauth",
  "GET /api/location",
  "GET /api/model",
  "GET /api/permission/request",
  "GET /api/permission/saved",
  "DELETE /api/permission/saved/{id}",
  "GET /api/provider",
  "GET /api/provider/{providerID}",
  "GET POST /api/pty",
  "DELETE GET PUT /api/pty/{ptyID}",
  "GET /api/pty/{ptyID}/connect",
  "POST /api/pty/{ptyID}/connect-token",
  "GET /api/question/request",
  "POST /api/session",
  "GET /api/session/active",
  "GET /api/session/{sessionID}",
  "POST /api/session/{sessionID}/agent",
  "POST /api/session/{sessionID}/compact",
  "GET /api/session/{sessionID}/context",
  "GET /api/session/{sessionID}/event",
  "GET /api/session/{sessionID}/history",
  "POST /api/session/{sessionID}/interrupt",
  "GET /api/session/{sessionID}/message",
  "GET /api/session/{sessionID}/message/{messageID}",
  "POST /api/session/{sessionID}/model",
  "GET POST /api/session/{sessionID}/permission",
  "GET /api/session/{sessionID}/permission/{requestID}",
  "POST /api/session/{sessionID}/permission/{requestID}/reply",
  "POST /api/session/{sessionID}/prompt",
  "GET /api/session/{sessionID}/question",
  "POST /api/session/{sessionID}/question/{requestID}/reject",
  "POST /api/session/{sessionID}/question/{requestID}/reply",
  "POST /api/session/{sessionID}/revert/clear",
  "POST /api/session/{sessionID}/revert/commit",
  "POST /api/session/{sessionID}/revert/stage",
  "POST /api/session/{sessionID}/wait",
  "GET /api/skill",
  "DELETE PUT /auth/{providerID}",
  "PATCH /config",
  "GET /experimental/capabilities",
  "GET /experimental/console",
  "GET /experimental/console/orgs",
  "POST /experimental/console/switch",
  "POST /experimental/control-plane/move-session",
  "DELETE POST /experimental/project/{projectID}/copy",
  "POST /experimental/project/{projectID}/copy/generate-name",
  "POST /experimental/project/{projectID}/copy/refresh",
  "GET /experimental/session",
  "POST /experimental/session/{sessionID}/background",
  "GET /experimental/tool",
  "GET /experimental/tool/ids",
  "GET POST /experimental/workspace",
  "GET /experimental/workspace/adapter",
  "GET /experimental/workspace/status",
  "POST /experimental/workspace/sync-list",
  "POST /experimental/workspace/warp",
  "DELETE /experimental/workspace/{id}",
  "DELETE GET POST /experimental/worktree",
  "POST /experimental/worktree/reset",
  "GET /file",
  "GET /file/content",
  "GET /file/status",
  "GET /find",
  "GET /find/symbol",
  "PATCH /global/config",
  "POST /global/dispose",
  "POST /global/upgrade",
  "POST /instance/dispose",
  "POST /log",
  "POST /mcp",
  "DELETE POST /mcp/{name}/auth",
  "POST /mcp/{name}/auth/authenticate",
  "POST /mcp/{name}/auth/callback",
  "POST /mcp/{name}/connect",
  "POST /mcp/{name}/disconnect",
  "POST /permission/{requestID}/reply",
  "POST /project/git/init",
  "PATCH /project/{projectID}",
  "GET /project/{projectID}/directories",
  "POST /provider/{providerID}/oauth/authorize",
  "POST /provider/{providerID}/oauth/callback",
  "GET POST /pty",
  "GET /pty/shells",
  "DELETE GET PUT /pty/{ptyID}",
  "GET /pty/{ptyID}/connect",
  "POST /pty/{ptyID}/connect-token",
  "POST /question/{requestID}/reject",
  "POST /question/{requestID}/reply",
  "POST /session",
  "DELETE PATCH /session/{sessionID}",
  "POST /session/{sessionID}/fork",
  "POST /session/{sessionID}/init",
  "DELETE /session/{sessionID}/message/{messageID}",
  "DELETE PATCH /session/{sessionID}/message/{messageID}/part/{partID}",
  "POST /session/{sessionID}/permissions/{permissionID}",
  "POST /session/{sessionID}/revert",
  "DELETE POST /session/{sessionID}/share",
  "POST /session/{sessionID}/shell",
  "POST /session/{sessionID}/unrevert",
  "GET /skill",
  "POST /sync/history",
  "POST /sync/replay",
  "POST /sync/start",
  "POST /sync/steal",
  "POST /tui/append-prompt",
  "POST /tui/clear-prompt",
  "GET /tui/control/next",
  "POST /tui/control/response",
  "POST /tui/execute-command",
  "POST /tui/open-help",
  "POST /tui/open-models",
  "POST /tui/open-sessions",
  "POST /tui/open-themes",
  "POST /tui/publish",
  "POST /tui/select-session",
  "POST /tui/show-toast",
  "POST /tui/submit-prompt",
  "POST /vcs/apply",
  "GET /vcs/diff",
  "GET /vcs/diff/raw",
  "GET /vcs/status",
];

/** Files that the page asks for, besides /assets/. opencode answers any other path with the page itself. */
const pageFiles = new Set([
  "/",
  "/apple-touch-icon-v3.png",
  "/favicon-96x96-v3.png",
  "/favicon-v3.ico",
  "/favicon-v3.svg",
  "/site.webmanifest",
]);
const asset = /^\/assets\/[\w.-]+\.(?:css|js|json|map|mp3|aac|png|svg|ttf|wasm|webp|woff2?)$/;

/** The web app's own address of a session: the directory in base64url, and the session. */
const sessionPage = /^\/([\w-]+)\/session(?:\/(ses_[0-9A-Za-z]{1,64}))?$/;

function findPage(path: string): FoundRoute | undefined {
  if (pageFiles.has(path) || asset.test(path)) {
    return { route: { class: "page", directory: undefined }, sessionID: undefined };
  }
  const [, directory, sessionID] = sessionPage.exec(path) ?? [];
  if (directory === undefined) return undefined;
  const decoded = Buffer.from(directory, "base64url").toString();
  // A word, and no directory.
  if (!decoded.startsWith("/")) return undefined;
  return { route: { class: "page", directory: decoded }, sessionID };
}

const ids: Record<string, RegExp> = {
  sessionID: /^ses_[0-9A-Za-z]{1,64}$/,
  messageID: /^msg_[0-9A-Za-z]{1,64}$/,
};

export interface FoundRoute {
  route: Route;
  /** The session in the path; undefined if the route has none. */
  sessionID: string | undefined;
}

const matchers = Object.entries(allowed).map(([name, route]) => {
  const [method, template] = name.split(" ") as [string, string];
  return { method, segments: template.split("/"), route };
});

/** undefined if the method and path are not allowed. `path` has no encoded characters. */
export function findRoute(method: string, path: string): FoundRoute | undefined {
  if (method === "GET") {
    const page = findPage(path);
    if (page) return page;
  }
  const given = path.split("/");
  // A route with a fixed word counts before one with an id in its place; no id looks like a word.
  for (const { method: wanted, segments, route } of matchers) {
    if (wanted !== method || segments.length !== given.length) continue;
    let sessionID: string | undefined;
    const fits = segments.every((segment, place) => {
      const name = /^\{(\w+)\}$/.exec(segment)?.[1];
      if (name === undefined) return segment === given[place];
      if (name === "sessionID") sessionID = given[place];
      return ids[name]!.test(given[place]!);
    });
    if (fits) return { route, sessionID };
  }
  return undefined;
}
