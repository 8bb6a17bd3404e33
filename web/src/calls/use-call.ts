// Actions in components: reads through the query cache, and changes with one idempotency key per press.
import {
  queryOptions,
  useMutation,
  useQuery,
  useQueryClient,
  type UseMutationResult,
  type UseQueryResult,
} from "@tanstack/react-query";
import { useRef } from "react";
import { call, type ActionName, type Input, type Result } from "./call.ts";
import { keyOf } from "./keys.ts";

/** For loaders of routes, and for `useQueries`. */
export function read<Name extends ActionName>(action: Name, input: Input<Name>) {
  return queryOptions({
    queryKey: keyOf(action, input),
    queryFn: ({ signal }) => call(action, input, { signal }),
  });
}

export function useRead<Name extends ActionName>(
  action: Name,
  input: Input<Name>,
  { enabled = true }: { enabled?: boolean } = {},
): UseQueryResult<Result<Name>> {
  return useQuery({ ...read(action, input), enabled });
}

/**
 * Each `mutate` is one press; the second press of a double click, while the same is being sent, is ignored. Afterwards what
 * the actions in `changes` showed is read again.
 */
export function useChange<Name extends ActionName>(
  action: Name,
  changes: readonly ActionName[] = [],
): UseMutationResult<Result<Name>, Error, Input<Name>> {
  const queries = useQueryClient();
  const sending = useRef(new Set<string>());
  const change = useMutation<Result<Name>, Error, Input<Name>>({
    mutationFn: (input) =>
      call(action, input, { idempotencyKey: crypto.randomUUID() }).finally(() =>
        sending.current.delete(JSON.stringify(input)),
      ),
    onSettled: () =>
      Promise.all(changes.map((each) => queries.invalidateQueries({ queryKey: [each] }))),
  });
  // A button is drawn as resting only after the press, and the second one can come before.
  const mutate: typeof change.mutate = (...press) => {
    const text = JSON.stringify(press[0]);
    if (sending.current.has(text)) return;
    sending.current.add(text);
    change.mutate(...press);
  };
  return { ...change, mutate };
}
