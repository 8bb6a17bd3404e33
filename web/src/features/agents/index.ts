// What other folders may use of agents.
export { AgentLine } from "./agent-line.tsx";
export { AgentsSection } from "./agents-section.tsx";
export { FallbackSection } from "./fallback-section.tsx";
export { saidOfAgent, type Said } from "./said-of-agent.ts";
