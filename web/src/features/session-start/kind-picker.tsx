// The agent of a new session, of those that are installed on its host.
import type { Instance, Session } from "@hawser/client";
import type { ReactNode } from "react";
import { MenuChoices } from "../../design/menu.tsx";
import { kindName } from "../../words/kinds.ts";
import { words } from "../../words/words.ts";
import { Picker } from "../session-turns/index.ts";

export function KindPicker({
  agents,
  kind,
  onChoose,
}: {
  agents: Instance["agents"];
  kind: Session["agentKind"];
  onChoose: (kind: Session["agentKind"]) => void;
}): ReactNode {
  const installed = agents.filter((agent) => agent.installed);
  return (
    <Picker label={words("start.agent", { agent: kindName(kind) })} text={kind}>
      <MenuChoices
        label={words("hosts.agents")}
        value={kind}
        options={installed.map((agent) => ({
          value: agent.kind,
          label: kindName(agent.kind),
          ...(!agent.ready && { about: agent.problems[0]?.message ?? words("agent.not_ready") }),
        }))}
        onChoose={(value) => onChoose(value as Session["agentKind"])}
      />
    </Picker>
  );
}
