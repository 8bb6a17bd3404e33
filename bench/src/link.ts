// The group `link`: the cost of the host link, beside its bare parts.
import type { Figure, Goal } from "./figure.ts";
import { measureLinkCommands } from "./link-commands.ts";
import { measureLinkHosts } from "./link-hosts.ts";
import { measureLinkIntake } from "./link-intake.ts";

export async function* measureLink(quick: boolean): AsyncGenerator<[Figure, Goal]> {
  yield* measureLinkCommands(quick);
  yield* measureLinkHosts(quick);
  yield* measureLinkIntake(quick);
}
