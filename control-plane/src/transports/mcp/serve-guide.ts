// Serves prompts and resources. What needs a tool that the client did not select is neither listed nor served, and
// what needs an action that the key may not call is not listed.
import { valuesIn, type CallAction, type Guide } from "./guide.ts";
import { invalid, type ModelServer } from "./model-server.ts";

/** The longest argument of a prompt, in characters. */
const longestArgument = 20_000;

export interface GuideAccess {
  /** Whether the client selected a tool. */
  isSelected(tool: string): boolean;
  /** The tools that the client selected and the key may call. */
  open(): Promise<ReadonlySet<string>>;
  call: CallAction;
}

interface Needing {
  needs: readonly string[];
}

export function serveGuide(server: ModelServer, guide: Guide, access: GuideAccess): void {
  const openOf = async <Item extends Needing>(items: readonly Item[]): Promise<Item[]> => {
    const open = await access.open();
    return items.filter(({ needs }) => needs.every((tool) => open.has(tool)));
  };
  const refuseUnselected = ({ needs }: Needing) => {
    const missing = needs.find((tool) => !access.isSelected(tool));
    if (missing !== undefined) {
      throw invalid(
        `This needs the tool ${missing}, which is not among those that this client selected.`,
      );
    }
  };
  server.setRequestHandler("prompts/list", async ({ params }) => {
    refuseCursor(params);
    return {
      prompts: (await openOf(guide.prompts)).map(
        ({ name, title, description, arguments: named }) => ({
          name,
          title,
          description,
          arguments: [...named],
        }),
      ),
    };
  });
  server.setRequestHandler("prompts/get", ({ params }) => {
    const prompt = guide.prompts.find(({ name }) => name === params.name);
    const values = params.arguments ?? {};
    if (!prompt) throw invalid("There is no prompt of this name.");
    refuseUnselected(prompt);
    const missing = prompt.arguments.find(({ name, required }) => required && !values[name]);
    if (missing) throw invalid(`The argument ${missing.name} is missing.`);
    const isLong = Object.values(values).some(({ length }) => length > longestArgument);
    if (isLong) throw invalid(`An argument has more than ${longestArgument} characters.`);
    return {
      description: prompt.description,
      messages: [{ role: "user", content: { type: "text", text: prompt.text(values) } }],
    };
  });
  server.setRequestHandler("resources/list", ({ params }) => {
    refuseCursor(params);
    return { resources: [] };
  });
  server.setRequestHandler("resources/templates/list", async ({ params }) => {
    refuseCursor(params);
    return {
      resourceTemplates: (await openOf(guide.resources)).map(
        ({ uriTemplate, name, title, description, mimeType }) => ({
          uriTemplate,
          name,
          title,
          description,
          mimeType,
        }),
      ),
    };
  });
  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    for (const resource of guide.resources) {
      const values = valuesIn(uri, resource.uriTemplate);
      if (!values) continue;
      refuseUnselected(resource);
      const text = await resource.read(access.call, values);
      return { contents: [{ uri, mimeType: resource.mimeType, text }] };
    }
    throw invalid("There is no resource at this address.");
  });
}

/** Every list has one page, so no cursor is valid. */
export function refuseCursor(params: { cursor?: string | undefined } | undefined): void {
  if (params?.cursor !== undefined) throw invalid("This list has one page: send no cursor.");
}
