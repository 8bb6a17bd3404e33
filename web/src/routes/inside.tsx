// Every page of a signed-in person, in one organization. Without a sign-in it leads to /sign-in and back.
import { useSuspenseQuery } from "@tanstack/react-query";
import { createRoute, Outlet, useRouter } from "@tanstack/react-router";
import { organization } from "../calls/organization.ts";
import { queries } from "../calls/query-client.ts";
import { ChooseOrganization, personQuery, signOut } from "../features/access/index.ts";
import { drafts } from "../features/drafts/index.ts";
import { SignInGate } from "../shell/sign-in-gate.tsx";
import { Shell } from "../shell/shell.tsx";
import { rootRoute } from "./root.tsx";
import { signedInPerson } from "./signed-in.ts";

export const insideRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "inside",
  beforeLoad: async ({ location }) => {
    const person = await signedInPerson(location.href);
    const ids = person.organizations.map(({ organizationId }) => organizationId);
    const recent = organization.id ?? organization.recent();
    const organizationId = ids.length === 1 ? ids[0] : ids.find((id) => id === recent);
    if (organizationId !== undefined) organization.use(organizationId);
    return { organizationId };
  },
  component: function Inside() {
    const router = useRouter();
    const { data: person } = useSuspenseQuery(personQuery);
    const { organizationId } = insideRoute.useRouteContext();

    const choose = (chosen: string) => {
      organization.use(chosen);
      // The cached answers belong to the organization that was chosen before.
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "sign_in" });
      void router.navigate({ to: "/" }).then(() => router.invalidate());
    };
    const leave = async () => {
      if (!(await signOut())) return;
      // What this device keeps of the person's writing ends with the sign-in.
      const { forgetPrompts } = await import("../features/session-turns/index.ts");
      await forgetPrompts(drafts);
      const { forgetReviews } = await import("../features/session-files/index.ts");
      await forgetReviews();
      // A browser that has forgotten the organization offers its provider only at this address.
      const of = person.isOfProvider ? organizationId : undefined;
      await router.navigate({ to: "/sign-in", search: { organization: of } });
    };
    if (organizationId === undefined) {
      return (
        <>
          <ChooseOrganization
            person={person}
            recent={organization.recent()}
            onChoose={choose}
            onSignOut={() => void leave()}
          />
          <SignInGate person={person} />
        </>
      );
    }
    return (
      <Shell
        key={organizationId}
        person={person}
        organizationId={organizationId}
        onChoose={choose}
        onSignOut={() => void leave()}
      >
        <Outlet />
      </Shell>
    );
  },
});
