// Directories of a host: its roots, the projects below them, and hosted repositories it can reach.
import { z } from "zod";
import { Instant } from "../moments.ts";

const gitFacts = {
  path: z.string(),
  isGitRepository: z.boolean(),
  branch: z.string().nullable().meta({ description: "The branch checked out there." }),
  remote: z
    .string()
    .nullable()
    .meta({ description: "The address of its remote, without any credentials." }),
};

export const DirectoryRecord = z
  .strictObject(gitFacts)
  .meta({ id: "Directory", description: "A directory on a host." });
export type DirectoryRecord = z.infer<typeof DirectoryRecord>;

const rootFacts = {
  ...gitFacts,
  type: z.enum(["folder", "repository"]).meta({
    description: "A folder holds projects; a repository is one itself.",
  }),
};

/** A root as an instance's detail shows it. */
export const RootRecord = z
  .strictObject(rootFacts)
  .meta({ id: "Root", description: "A directory the host lets the service work in." });
export type RootRecord = z.infer<typeof RootRecord>;

/** A root with the projects directly below it; a repository has none. */
export const RootListing = z
  .strictObject({
    ...rootFacts,
    children: z.array(DirectoryRecord),
    truncated: z.boolean().meta({ description: "True when there are more than are listed." }),
  })
  .meta({ id: "RootListing", description: "A root with the projects directly below it." });
export type RootListing = z.infer<typeof RootListing>;

export const HostedRepositoryRecord = z
  .strictObject({
    name: z.string().meta({ description: "Written owner/name." }),
    private: z.boolean(),
    defaultBranch: z.string().nullable().meta({ description: "Null while it has no commit." }),
  })
  .meta({ id: "Repository", description: "A repository the host's account can reach." });
export type HostedRepositoryRecord = z.infer<typeof HostedRepositoryRecord>;

/** Added to what is read from a host, but can be answered from memory while the host is away. */
export const freshness = {
  live: z.boolean().meta({ description: "False when the host was away and this is remembered." }),
  takenAt: Instant.nullable().meta({ description: "When the host told; null if it never did." }),
};
