// A button that leaves the page for the identity provider of an organization.
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Failure } from "../../design/failure.tsx";

export function LeaveForProvider({
  begin,
  isPrimary = false,
  children,
}: {
  /** Returns the address of the provider's page. */
  begin: () => Promise<string>;
  isPrimary?: boolean;
  children: ReactNode;
}): ReactNode {
  const leave = useMutation({ mutationFn: async () => location.assign(await begin()) });
  return (
    <>
      {leave.error && <Failure error={leave.error} />}
      <button
        type="button"
        className={isPrimary ? "btn big primary" : "btn big"}
        disabled={leave.isPending}
        onClick={() => leave.mutate()}
      >
        {children}
      </button>
    </>
  );
}
