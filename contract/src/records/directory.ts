// Directories of a host: its roots, the projects below them, and the hosted repositories it can reach.
import { z } from "zod";
import { Instant } from "../moments.ts";

const gitFacts = {
  path: z.string().meta({ description: "Its absolute path on the host." }),
  isGitRepository: z.boolean().meta({ description: "Whether it is a git repository." }),
  branch: z.string().nullable().meta({ description: "The checked-out branch." }),
  remote: z
    .string()
    .nullable()
    .meta({ description: "The address of its remote, without credentials." }),
};

export const DirectoryRecord = z
  .strictObject(gitFacts)
  .meta({ id: "Directory", description: "A directory on a host." });
export type DirectoryRecord = z.infer<typeof DirectoryRecord>;

const rootFacts = {
  ...gitFacts,
  type: z.enum(["folder", "repository"]).meta({
    description: "A folder contains projects; a repository is a project itself.",
  }),
};

/** A root as an instance's detail shows it. */
export const RootRecord = z
  .strictObject(rootFacts)
  .meta({ id: "Root", description: "A directory that the host's owner opened to the service." });
export type RootRecord = z.infer<typeof RootRecord>;

/** A root with the projects directly below it; a repository has none. */
export const RootListing = z
  .strictObject({
    ...rootFacts,
    children: z.array(DirectoryRecord),
    truncated: z.boolean().meta({ description: "True if the list is incomplete." }),
  })
  .meta({ id: "RootListing", description: "A root with the projects directly below it." });
export type RootListing = z.infer<typeof RootListing>;

export const HostedRepositoryRecord = z
  .strictObject({
    name: z.string().meta({ description: "Written owner/name." }),
    private: z.boolean().meta({ description: "Whether only some accounts can see it." }),
    defaultBranch: z.string().nullable().meta({ description: "Null if it has no commit." }),
  })
  .meta({ id: "Repository", description: "A repository the host's account can reach." });
export type HostedRepositoryRecord = z.infer<typeof HostedRepositoryRecord>;

/** Added to answers of a host that the service repeats while the host is offline. */
export const freshness = {
  live: z
    .boolean()
    .meta({ description: "False if the host was offline and this is its last answer." }),
  takenAt: Instant.nullable().meta({
    description: "When the host answered; null if it never did.",
  }),
};
