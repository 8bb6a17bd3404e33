// The options of a model, and the agent's own modes and sub-agents, as a menu.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { useRead } from "../../calls/use-call.ts";
import { MenuChoices, MenuLine } from "../../design/menu.tsx";
import { words } from "../../words/words.ts";
import { MenuSays } from "./model-choices.tsx";
import type { Choices } from "../drafts/index.ts";
import { optionsWith } from "./options.ts";

export function OptionChoices({
  instanceId,
  agentKind,
  model,
  choices,
  hasAgent,
  onChoose,
}: {
  instanceId: string;
  agentKind: Session["agentKind"];
  model: Choices["model"];
  choices: Choices;
  hasAgent: boolean;
  onChoose: (choices: Choices) => void;
}): ReactNode {
  const { data, error } = useRead("list_agent_kinds", { instanceId });
  if (!data) return <MenuSays error={error} />;
  const kind = data.agentKinds.find((each) => each.kind === agentKind);
  const options = kind ? optionsWith(kind, model) : [];
  const modes = hasAgent ? (kind?.modes ?? []) : [];
  if (options.length === 0 && modes.length === 0)
    return <p className="label">{words("options.none")}</p>;
  return (
    <>
      {options.map(({ id, name, values, default: preset }) => (
        <MenuChoices
          key={id}
          label={name}
          value={choices.options?.[id] ?? preset ?? undefined}
          options={values.map((value) => ({ value, label: value }))}
          onChoose={(value) =>
            onChoose({ ...choices, options: { ...choices.options, [id]: value } })
          }
        />
      ))}
      {options.length > 0 && <p className="label">{words("model.holds")}</p>}
      {modes.length > 0 && (
        <>
          {options.length > 0 && <MenuLine />}
          <MenuChoices
            label={words("options.agent")}
            value={choices.agent}
            options={modes.map((value) => ({ value, label: value }))}
            onChoose={(agent) => onChoose({ ...choices, agent })}
          />
        </>
      )}
    </>
  );
}
