// Decides about one request of an exposure: what of it reaches opencode, what the daemon's session layer carries
// out, and what is refused. A pure function of the request and of what the exposure reaches.
import { findRoute, type Answer, type Route, type Task } from "./routes.ts";
import { readTarget, writeTarget } from "./target.ts";

export interface JudgedRequest {
  method: string;
  /** Path and query, exactly as the client sent them. */
  target: string;
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** What an exposure reaches now. */
export interface Reach {
  /** Directories of its sessions. The first is used for requests that name none. */
  directories: readonly string[];
  /** Directory of a session of opencode, or of a sub-agent's; undefined if the exposure does not reach it. */
  directoryOf(sessionID: string): string | undefined;
}

export type Verdict =
  | { do: "refuse"; code: string; message: string }
  | { do: "turn"; task: Task; sessionID: string }
  | { do: "forward"; path: string; headers: Record<string, string>; answer: Answer | "events" };

const refused = (code: string, message: string): Verdict => ({ do: "refuse", code, message });

const unknownRoute = refused(
  "forbidden_route",
  "This exposure does not serve this request. It serves opencode's terminal client and web app for sessions that Hawser manages. Use Hawser's own actions for the rest, such as answer_permission or start_session.",
);
const unreadable = refused(
  "forbidden_target",
  "The address of the request is not written as opencode's clients write it.",
);
const otherSession = refused(
  "forbidden_session",
  "This exposure does not reach the session. It reaches sessions that Hawser manages on this host, or only the one that it was made for.",
);
const otherDirectory = refused(
  "forbidden_directory",
  "This exposure does not reach the directory. Leave the directory out, or name that of the session.",
);
const noDirectory = refused(
  "forbidden_directory",
  "No session of opencode is open on this host. Start one with start_session.",
);

/** The session that the request names in its path; undefined if it names none. */
export function sessionIn({ method, target }: JudgedRequest): string | undefined {
  const read = readTarget(target);
  return read && findRoute(method, read.path)?.sessionID;
}

export function judge(request: JudgedRequest, reach: Reach): Verdict {
  const target = readTarget(request.target);
  if (!target) return unreadable;
  const found = findRoute(request.method, target.path);
  if (!found) return unknownRoute;
  const { route, sessionID } = found;
  const named = namedDirectory(target.query, request.headers);
  if (named === null) return otherDirectory;
  const strange = [...target.query.keys()].find((name) => !mayHave(route, name));
  if (strange !== undefined) return unreadable;

  if (route.class === "page") {
    if (route.directory === undefined) return page(request, target.path);
    if (!reach.directories.includes(route.directory)) return otherDirectory;
    const isOther = sessionID !== undefined && reach.directoryOf(sessionID) !== route.directory;
    // The page is the same everywhere, and reads its own address.
    return isOther ? otherSession : page(request, "/");
  }
  if (route.class === "session" || route.class === "turn") {
    const directory = sessionID === undefined ? undefined : reach.directoryOf(sessionID);
    if (directory === undefined) return otherSession;
    if (named !== undefined && named !== directory) return otherDirectory;
    if (route.class === "turn") return { do: "turn", task: route.task, sessionID: sessionID! };
    return forwarded(request, target, directory, "unchanged");
  }
  const directory = named ?? reach.directories[0];
  if (directory === undefined) return noDirectory;
  if (!reach.directories.includes(directory)) return otherDirectory;
  if (route.class === "absent") return page(request, "/");
  return forwarded(request, target, directory, route.class === "stream" ? "events" : route.answer);
}

const page = (request: JudgedRequest, path: string): Verdict => ({
  do: "forward",
  path,
  headers: kept(request),
  answer: "unchanged",
});

function mayHave(route: Route, name: string): boolean {
  if (route.class === "page") return false;
  return name === "directory" || ("query" in route && route.query.includes(name));
}

/** The directory that the request names; undefined if it names none, null if it names two. */
function namedDirectory(
  query: ReadonlyMap<string, string>,
  headers: JudgedRequest["headers"],
): string | undefined | null {
  const header = headers["x-opencode-directory"];
  const fromQuery = query.get("directory");
  if (header === undefined) return fromQuery;
  const fromHeader = typeof header === "string" ? decodeOnce(header) : null;
  return fromQuery === undefined || fromQuery === fromHeader ? fromHeader : null;
}

/** Clients send the header plain or encoded. null if it cannot be decoded. */
function decodeOnce(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function forwarded(
  request: JudgedRequest,
  { path, query }: { path: string; query: ReadonlyMap<string, string> },
  directory: string,
  answer: Answer | "events",
): Verdict {
  // The query counts more than the header for opencode. Both are ours.
  const pinned = new Map([...query, ["directory", directory]]);
  const headers = { ...kept(request), "x-opencode-directory": encodeURIComponent(directory) };
  return { do: "forward", path: writeTarget({ path, query: pinned }), headers, answer };
}

/** The client's headers that reach opencode. Cookies, logins and forwarded addresses are not among them. */
const requestHeaders = ["accept", "if-modified-since", "if-none-match", "range"];

function kept({ headers }: JudgedRequest): Record<string, string> {
  const found = requestHeaders.flatMap((name) => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  return Object.fromEntries(found);
}
