// The page of a phone that its person lets in from another browser: it shows four digits, and waits until they were
// typed there.
import { useQuery } from "@tanstack/react-query";
import { useEffect, type ReactNode } from "react";
import { isRefused } from "../../calls/refused.ts";
import { request } from "../../calls/request.ts";
import { Failure } from "../../design/failure.tsx";
import { Logo } from "../../design/logo.tsx";
import { usePageTitle } from "../../design/page-title.ts";
import { Skeleton } from "../../design/skeleton.tsx";
import { words } from "../../words/words.ts";
import { forgetPerson } from "./person.ts";

const askEveryMs = 2_000;
/** Three minutes of questions without an answer: the digits are good for two, and then there is one to enter. */
const mostFailures = 90;

export function PhonePage({
  link,
  onEntered,
}: {
  /** The secret of the link. */
  link: string;
  onEntered: () => void;
}): ReactNode {
  usePageTitle(words("phone.title"));
  const opened = useQuery({
    queryKey: ["phone", "open", link],
    queryFn: () => request<{ digits: string }>("/api/sign-in/phone/open", { link }),
    staleTime: Infinity,
  });
  const entered = useQuery({
    queryKey: ["phone", "enter", link],
    queryFn: () =>
      request<{ state: "waiting" | "signed_in" | "over" }>("/api/sign-in/phone/enter", {}),
    enabled: opened.isSuccess,
    staleTime: Infinity,
    refetchInterval: ({ state: { data, errorUpdateCount } }) =>
      (data?.state ?? "waiting") === "waiting" && errorUpdateCount < mostFailures && askEveryMs,
  });
  const state = entered.data?.state;
  useEffect(() => {
    if (state !== "signed_in") return;
    forgetPerson("phone");
    onEntered();
    // Once, and not for each new function of the page above.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [state]);
  return (
    <main className="gate">
      <div>
        <div className="head">
          <Logo size={32} />
          <h1>{words("phone.title")}</h1>
        </div>
        {opened.isPending && <Skeleton lines={3} />}
        {opened.isError &&
          (isRefused(opened.error, "not_found") ? (
            <p>{words("phone.gone")}</p>
          ) : (
            <Failure error={opened.error} onTryAgain={() => void opened.refetch()} />
          ))}
        {opened.data && state === "over" && <p role="status">{words("phone.over")}</p>}
        {opened.data && state !== "over" && (
          <>
            <p className="mid">{words("phone.what")}</p>
            <output className="digits">{opened.data.digits}</output>
            <p className="dim small">{words("phone.stays")}</p>
            {entered.isError && (
              <Failure error={entered.error} onTryAgain={() => void entered.refetch()} />
            )}
          </>
        )}
      </div>
    </main>
  );
}
