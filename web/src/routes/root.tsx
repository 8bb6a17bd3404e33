// Above every page: unknown addresses, and pages that fail.
import { createRootRoute, Link, Outlet } from "@tanstack/react-router";
import { Failure } from "../design/failure.tsx";
import { Logo } from "../design/logo.tsx";
import { words } from "../words/words.ts";

export const rootRoute = createRootRoute({
  component: Outlet,
  errorComponent: ({ error, reset }) => (
    <main className="gate">
      <Failure error={error} what={words("page.failed")} onTryAgain={reset} />
    </main>
  ),
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
