// The models of an agent kind on a host, as a menu.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { useRead } from "../../calls/use-call.ts";
import { MenuChoices, MenuLine } from "../../design/menu.tsx";
import { words } from "../../words/words.ts";
import type { Choices } from "../drafts/index.ts";

export function ModelChoices({
  instanceId,
  agentKind,
  model,
  onChoose,
}: {
  instanceId: string;
  agentKind: Session["agentKind"];
  model: Choices["model"];
  onChoose: (model: NonNullable<Choices["model"]>) => void;
}): ReactNode {
  const { data, error } = useRead("list_models", { instanceId, agentKind });
  if (!data) return <MenuSays error={error} />;
  const current = model ?? data.defaultModel ?? undefined;
  return (
    <>
      {data.providers.map(({ providerId, models }) => (
        <MenuChoices
          key={providerId}
          label={providerId}
          value={current?.providerId === providerId ? current.modelId : undefined}
          options={models.map(({ modelId }) => ({ value: modelId, label: modelId }))}
          onChoose={(modelId) => onChoose({ providerId, modelId })}
        />
      ))}
      {data.providers.length === 0 && <p className="label">{words("model.none")}</p>}
      <MenuLine />
      <p className="label">{words("model.holds")}</p>
    </>
  );
}

/** Until what a menu offers is there, and why it does not come. */
export function MenuSays({ error }: { error: Error | null }): ReactNode {
  return (
    <p className="label" role="status">
      {error?.message ?? words("menu.loading")}
    </p>
  );
}
