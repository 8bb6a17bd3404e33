// The environment of the parts. They get the variables by which a program finds its user's settings and the
// network, with those for proxies and certificates; all others stay out.
import { childEnvironment, type Environment } from "@hawser/daemon/environment.ts";

/** Beside those that a host's agents get too. */
const network = ["NODE_USE_SYSTEM_CA", "NODE_USE_ENV_PROXY", "ALL_PROXY", "all_proxy"];

export const partEnvironment = (more: Environment = {}): Environment =>
  childEnvironment(more, process.env, network);

/** Variables that are about this command or the host, not about the node. */
const notOfTheNode = new Set(
  "HAWSER_URL HAWSER_KEY HAWSER_HOME HAWSER_TOKEN HAWSER_SERVER_HOME HAWSER_NODE HAWSER_POSTGRES_BIN HAWSER_NATS_SERVER HAWSER_UP_TIMES HAWSER_POSTGRES_URL HAWSER_ADMIN_URL".split(
    " ",
  ),
);

/** The operator's own settings for the node, such as HAWSER_WEBHOOK_NETWORKS. */
export function nodeSettings(own: NodeJS.ProcessEnv = process.env): Environment {
  const found = Object.entries(own).filter(
    ([name, value]) =>
      name.startsWith("HAWSER_") && !notOfTheNode.has(name) && value !== undefined && value !== "",
  );
  return Object.fromEntries(found) as Environment;
}
