// /device?code=CODE: a program asks for a key of the person. Without a code the person types it.
import { useSuspenseQuery } from "@tanstack/react-query";
import { createRoute, useRouter } from "@tanstack/react-router";
import { DevicePage, personQuery } from "../features/access/index.ts";
import { SignInGate } from "../shell/sign-in-gate.tsx";
import { rootRoute } from "./root.tsx";
import { signedInPerson } from "./signed-in.ts";

export const deviceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/device",
  validateSearch: ({ code }: Record<string, unknown>): { code?: string | undefined } => ({
    code: typeof code === "string" && /^[\w-]{1,40}$/.test(code) ? code : undefined,
  }),
  beforeLoad: async ({ location }) => {
    await signedInPerson(location.href);
  },
  component: function Device() {
    const router = useRouter();
    const { data: person } = useSuspenseQuery(personQuery);
    const { code } = deviceRoute.useSearch();
    return (
      <>
        <DevicePage
          key={code}
          person={person}
          code={code}
          onCode={(typed) => void router.navigate({ to: "/device", search: { code: typed } })}
        />
        <SignInGate person={person} />
      </>
    );
  },
});
