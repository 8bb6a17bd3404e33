// What an MCP server offers beside its tools: instructions, prompts and resources. A product writes them;
// the transport serves them and knows nothing about their subject.

/** Calls an action of the product with the client's key. Throws the refusal, if it is refused. */
export type CallAction = (action: string, input: Record<string, unknown>) => Promise<unknown>;

export interface Guide {
  /** Read by a model before anything else. */
  instructions: string;
  prompts: readonly GuidePrompt[];
  resources: readonly GuideResource[];
}

/** A text that a person starts in their client, with arguments. */
export interface GuidePrompt {
  name: string;
  title: string;
  description: string;
  arguments: readonly { name: string; description: string; required: boolean }[];
  /** The actions that a model needs in order to follow it. */
  needs: readonly string[];
  text(values: Readonly<Record<string, string>>): string;
}

/** A text that a client reads by its address. Each `{name}` in the template stands for one id. */
export interface GuideResource {
  uriTemplate: string;
  name: string;
  title: string;
  description: string;
  mimeType: string;
  /** An action whose cut result points here, and what the resource shows of the rest, as the end of a sentence. */
  completes: { action: string; shows: string };
  /** The actions that reading it calls. */
  needs: readonly string[];
  read(call: CallAction, values: Readonly<Record<string, string>>): Promise<string>;
}

/** The address of a resource with these values; undefined if one is missing. */
export function addressOf(template: string, values: Record<string, unknown>): string | undefined {
  const uri = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    return typeof value === "string" ? value : "";
  });
  return valuesIn(uri, template) && uri;
}

/** The values in an address that fits the template; undefined if it does not fit. */
export function valuesIn(uri: string, template: string): Record<string, string> | undefined {
  const pattern = template
    .replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\{(\w+)\}/g, String.raw`(?<$1>[\w-]{1,100})`);
  return new RegExp(`^${pattern}$`).exec(uri)?.groups;
}
