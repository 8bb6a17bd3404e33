// The coding product: which registry this node serves, and which handlers answer it.
import { registry } from "@hawser/contract";
import { accessHandlers, type AccessServices } from "./access/handlers.ts";
import { agentHandlers, type AgentServices } from "./agents/handlers.ts";
import type { HandlersFor } from "./dispatch/handler.ts";
import { instanceHandlers, type InstanceServices } from "./instances/handlers.ts";
import type { NotYet } from "./not-yet.ts";
import { requestHandlers } from "./requests/handlers.ts";
import type { SessionServices } from "./sessions/ask-host.ts";
import { sessionFileHandlers } from "./sessions/files.ts";
import { sessionHandlers } from "./sessions/handlers.ts";
import { sessionTurnHandlers } from "./sessions/turns.ts";
import type { SessionLogServices } from "./session-log/wait.ts";
import type { Product } from "./transports/serve.ts";

export type Services = AccessServices &
  AgentServices &
  InstanceServices &
  SessionServices &
  SessionLogServices;

export const handlers: HandlersFor<typeof registry, Services, NotYet> = {
  ...accessHandlers,
  ...agentHandlers,
  ...instanceHandlers,
  ...sessionHandlers,
  ...sessionTurnHandlers,
  ...sessionFileHandlers,
  ...requestHandlers,
};

export const codeApi: Product = {
  title: "Code API",
  version: "1.0.0",
  summary: "Coding agents on an organization's own hosts.",
  name: "hawser",
  actions: registry,
  built: (name) => Object.hasOwn(handlers, name),
};
