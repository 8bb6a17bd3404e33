// How a person reaches an exposure.

/** The login name is the same for every exposure; the password decides. */
export const username = "hawser";

/** Where opencode's clients begin; null if it has no session. */
interface Beginning {
  directory: string | null;
  /** opencode's own id. */
  agentSessionId: string | null;
}

/** The page of opencode's web app that shows the session. Its start page lists only what the browser has opened before. */
export function pageOf(origin: string, { directory, agentSessionId }: Beginning): string {
  if (directory === null) return origin;
  const sessions = `${origin}/${Buffer.from(directory).toString("base64url")}/session`;
  return agentSessionId === null ? sessions : `${sessions}/${agentSessionId}`;
}

/** The password is in the environment: arguments can be read by every user of the machine. */
export function attachCommand(
  origin: string,
  password: string,
  { directory, agentSessionId }: Beginning,
): string {
  return [
    `OPENCODE_SERVER_PASSWORD=${password}`,
    `opencode attach ${origin} -u ${username}`,
    ...(directory === null ? [] : [`--dir ${quoted(directory)}`]),
    ...(agentSessionId === null ? [] : [`-s ${agentSessionId}`]),
  ].join(" ");
}

/** As a word of a POSIX shell. */
const quoted = (text: string): string =>
  /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
