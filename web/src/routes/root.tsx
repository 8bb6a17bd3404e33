// Above every page: unknown addresses, and pages that fail.
import {
  createRootRoute,
  Link,
  Outlet,
  useRouter,
  type ErrorComponentProps,
} from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";
import { Refused, Unanswered } from "../calls/refused.ts";
import { Failure } from "../design/failure.tsx";
import { Logo } from "../design/logo.tsx";
import { words } from "../words/words.ts";

export const rootRoute = createRootRoute({
  component: Outlet,
  errorComponent: PageFailed,
  notFoundComponent: () => (
    <main className="gate">
      <div>
        <div className="head">
          <Logo size={32} />
          <h1>{words("page.unknown")}</h1>
        </div>
        <p className="mid">{words("page.unknown.where")}</p>
        <Link to="/" className="btn big">
          {words("page.home")}
        </Link>
      </div>
    </main>
  ),
});

const tryAgainMs = 10_000;

/** A page that could not be opened because the service did not answer is opened as soon as the service answers. */
function PageFailed({ error }: ErrorComponentProps): ReactNode {
  const router = useRouter();
  const heals =
    error instanceof Unanswered || (error instanceof Refused && error.refusal.retry === "later");
  useEffect(() => {
    if (!heals) return undefined;
    const timer = setInterval(() => void router.invalidate(), tryAgainMs);
    return () => clearInterval(timer);
  }, [heals, router]);
  return (
    <main className="gate">
      <Failure
        error={error}
        what={words("page.failed")}
        onTryAgain={() => void router.invalidate()}
      />
    </main>
  );
}
