// The providers of organizations, with a library that is loaded when the first person uses one: it costs 60 ms and
// 10 MB at the start of a node.
import type { Addresses } from "../webhooks/addresses.ts";
import type { Providers } from "./provider.ts";

export function createLazyProviders(addresses: Addresses): Providers {
  let made: Promise<Providers> | undefined;
  const load = () =>
    (made ??= import("./provider.ts").then(({ createProviders }) =>
      createProviders({ addresses }),
    ));
  return {
    begin: async (...values) => (await load()).begin(...values),
    finish: async (...values) => (await load()).finish(...values),
    refresh: async (...values) => (await load()).refresh(...values),
  };
}
