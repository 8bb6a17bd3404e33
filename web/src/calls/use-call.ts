// Actions in components: reads through the query cache, and changes with one idempotency key per press.
import {
  queryOptions,
  useMutation,
  useQuery,
  useQueryClient,
  type UseMutationResult,
  type UseQueryResult,
} from "@tanstack/react-query";
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

/** Each `mutate` is one press. Afterwards what the actions in `changes` showed is read again. */
export function useChange<Name extends ActionName>(
  action: Name,
  changes: readonly ActionName[] = [],
): UseMutationResult<Result<Name>, Error, Input<Name>> {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (input: Input<Name>) =>
      call(action, input, { idempotencyKey: crypto.randomUUID() }),
    onSettled: () =>
      Promise.all(changes.map((each) => queries.invalidateQueries({ queryKey: [each] }))),
  });
}
