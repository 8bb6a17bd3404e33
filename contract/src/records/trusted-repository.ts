// Repositories whose own configuration for agents an organization trusts. Without that, a repository's
// configuration has no effect on a session.
import { z } from "zod";

export const TrustedPart = z.enum(["skills", "commands", "mcp_servers", "hooks"]).meta({
  description:
    "commands: slash commands and sub-agents. mcp_servers: tools it may ask to use. hooks: commands that run without a request.",
});
export type TrustedPart = z.infer<typeof TrustedPart>;

const segment = "[A-Za-z0-9_~][A-Za-z0-9._~+-]*";
const originPattern = `^[a-z0-9_][a-z0-9._-]*(?::[0-9]{1,5})?(?:/${segment})+$`;
const origin = new RegExp(originPattern);

/** How a repository is named independently of the protocol that it is cloned with. */
const RepositoryOrigin = z
  .string()
  .max(300)
  .regex(
    origin,
    "must be of the form host/path, with the host in lower case, for example github.com/acme/app",
  )
  .refine((text) => !text.endsWith(".git"), "must not end in .git")
  .meta({
    description: "Such as `github.com/acme/app`, with the host in lower case.",
  });

export const TrustedRepository = z.strictObject({
  origin: RepositoryOrigin,
  parts: z
    .array(TrustedPart)
    .min(1)
    .max(TrustedPart.options.length)
    .meta({ description: "The parts of its configuration that agents may use." }),
});
export type TrustedRepository = z.infer<typeof TrustedRepository>;

export const TrustedRepositories = z
  .array(TrustedRepository)
  .max(100)
  .refine(
    (list) => new Set(list.map((each) => each.origin)).size === list.length,
    "must name each origin once: list all its parts in one entry",
  );

const addresses = [
  /^https:\/\/(?<host>[^/@:]+(?::(?!443\/)[0-9]+)?)(?::443)?\/(?<path>.+)$/,
  /^ssh:\/\/(?:git@)?(?<host>[^/@:]+(?::(?!22\/)[0-9]+)?)(?::22)?\/(?<path>.+)$/,
  /^git@(?<host>[^/@:]+):(?<path>[^/:].*)$/,
];

/**
 * The origin that a clone address names. undefined for addresses without encryption, because anyone on the way
 * could answer for them, for addresses with another user than git, whose path can be another repository, and
 * for everything that is no plain host and path.
 */
export function originOf(address: string): string | undefined {
  for (const form of addresses) {
    const { host, path } = form.exec(address)?.groups ?? {};
    if (host === undefined || path === undefined) continue;
    const name = `${host.toLowerCase()}/${path.replace(/\/$/, "").replace(/\.git$/, "")}`;
    return RepositoryOrigin.safeParse(name).data;
  }
  return undefined;
}
