// The model of one entry of the order. The host is asked for its models when the list opens.
import type { InstanceDetail } from "@hawser/client";
import { ChevronDown } from "lucide-react";
import type { ReactNode } from "react";
import { useRead } from "../../calls/use-call.ts";
import { Menu, MenuChoices } from "../../design/menu.tsx";
import { plainText } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";
import type { Draft } from "./fallback.ts";

type Model = Pick<Draft, "providerId" | "modelId">;

interface PickProps {
  host: InstanceDetail;
  entry: Draft;
  onPick: (model: Model) => void;
}

export function ModelPick(props: PickProps): ReactNode {
  const { host, entry } = props;
  return (
    <span className="sub">
      <Menu
        trigger={
          <button
            type="button"
            className="pick"
            disabled={host.status !== "online"}
            title={host.status === "online" ? undefined : words("fallback.models.offline")}
          >
            {entry.modelId === null ? words("fallback.default_model") : plainText(entry.modelId)}{" "}
            <ChevronDown className="icon s" aria-hidden />
          </button>
        }
      >
        <Models {...props} />
      </Menu>
    </span>
  );
}

function Models({ host: { instanceId }, entry, onPick }: PickProps): ReactNode {
  const { data, error } = useRead("list_models", { instanceId, agentKind: entry.kind });
  if (error) return <p className="label">{error.message}</p>;
  if (!data) return <p className="label">{words("fallback.models.asking")}</p>;
  const models = data.providers.flatMap(({ providerId, models: offered }) =>
    offered.map(({ modelId }) => ({ providerId, modelId })),
  );
  const chosen = models.findIndex(
    ({ providerId, modelId }) => providerId === entry.providerId && modelId === entry.modelId,
  );
  return (
    <div className="scrolls">
      <MenuChoices
        label={words("fallback.model")}
        value={entry.modelId === null ? "default" : chosen < 0 ? undefined : String(chosen)}
        options={[
          { value: "default", label: words("fallback.default_model") },
          ...models.map(({ providerId, modelId }, index) => ({
            value: String(index),
            label: plainText(`${providerId} / ${modelId}`),
          })),
        ]}
        onChoose={(value) => onPick(models[Number(value)] ?? { providerId: null, modelId: null })}
      />
    </div>
  );
}
