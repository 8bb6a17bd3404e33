// The only cache of server state.
import { QueryClient } from "@tanstack/react-query";

export const queries = new QueryClient({
  defaultOptions: {
    // call.ts repeats what may be repeated. The feed says what has changed; coming back to the tab reads again too.
    queries: { retry: false, staleTime: 5_000 },
    mutations: { retry: false },
  },
});
