// /sign-in: `to` is where the person wanted to go, `error` why single sign-on has led back, and `organization` whose
// provider is offered.
import { createRoute, useRouter } from "@tanstack/react-router";
import { organization } from "../calls/organization.ts";
import { forgetPerson, SignInPage } from "../features/access/index.ts";
import { rootRoute } from "./root.tsx";

interface Search {
  to?: string | undefined;
  error?: string | undefined;
  organization?: string | undefined;
}

export const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-in",
  validateSearch: ({ to, error, organization }: Record<string, unknown>): Search => ({
    // The router keeps what is left out here, so what does not fit is undefined.
    // Only a path of this service: another site's address begins with // or a scheme.
    to: typeof to === "string" && /^\/(?![/\\])/.test(to) ? to : undefined,
    error: typeof error === "string" && /^\w{1,60}$/.test(error) ? error : undefined,
    organization: typeof organization === "string" ? organization : undefined,
  }),
  component: function SignIn() {
    const router = useRouter();
    const { to = "/", error, organization: named } = signInRoute.useSearch();
    return (
      <SignInPage
        error={error}
        organizationId={named ?? organization.recent()}
        onSignedIn={() => {
          forgetPerson();
          router.history.push(to);
        }}
      />
    );
  },
});
