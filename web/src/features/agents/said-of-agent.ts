// What a host's record says of an agent, as a mark, a word, and a sentence. Of a host that is not online nothing is
// known now.
import type { HostOperation, InstanceDetail } from "@hawser/client";
import type { MarkState } from "../../design/mark.tsx";
import { kindName } from "../../words/kinds.ts";
import { words } from "../../words/words.ts";

export interface Said {
  mark: MarkState;
  word: string;
  /** More about it; undefined if the word says all. */
  detail?: string;
}

export type Agent = InstanceDetail["agents"][number];

/** Whose login the agent would use for the person's own sessions. */
export type Login = "own" | "host" | "unknown";

/** What the host says of an agent that only has to be installed, which a button does. */
const buttonSaysIt = /^\w+ is not installed\. Call \w+ to install it\.$/;

export function saidOfAgent(agent: Agent, login: Login = "unknown"): Said {
  const { kind, installed, ready, problems } = agent;
  const [problem] = problems;
  if (!installed) {
    const word = words("agent.not_installed");
    return !problem || buttonSaysIt.test(problem.message)
      ? { mark: "off", word }
      : { mark: "off", word, detail: problem.message };
  }
  const needsLogin = problem?.code === "not_logged_in";
  if (ready || (needsLogin && login === "own")) {
    const said = { mark: "on", word: words("agent.ready") } as const;
    return login === "unknown" || kind === "opencode"
      ? said
      : { ...said, detail: words(`agent.ready.${login}`) };
  }
  if (needsLogin) {
    const detail =
      kind === "opencode" || login === "unknown"
        ? problem.message
        : words("agent.blocked", { kind: kindName(kind) });
    return { mark: "ask", word: words("agent.not_logged_in"), detail };
  }
  return {
    mark: "err",
    word: words("agent.not_ready"),
    ...(problem && { detail: problem.message }),
  };
}

/** The newest install or update of this kind that the host still reports. */
export function workOn(
  kind: string,
  operations: readonly HostOperation[],
): HostOperation | undefined {
  return operations
    .filter(({ type, subject }) => type === "install_agent" && subject.startsWith(`${kind} `))
    .sort((a, b) => a.startedAt.localeCompare(b.startedAt))
    .at(-1);
}
