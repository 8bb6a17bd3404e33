// list_models: the models that an agent kind can use on this host.
import { asRefusal } from "../sessions/refusals.ts";
import type { Command } from "./command.ts";

export const listModels: Command<"list_models"> = {
  repeatable: true,
  endsHost: false,
  async run({ kind }, { sessions, signal }) {
    try {
      return { agentKind: kind, ...(await sessions.readyDriver(kind).listModels(signal)) };
    } catch (error) {
      throw asRefusal(error);
    }
  },
};
