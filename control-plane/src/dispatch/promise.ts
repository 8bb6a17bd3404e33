// An action gives only the refusals it lists. Any other that its handler throws is a fault of ours,
// and is treated as one: it is not kept for retries and reaches the caller as an incident. Of an action
// that is built in part, the handler says `not_implemented` itself.
import { Refusal, commonRefusals, type Action, type RefusalCode } from "@hawser/contract";

const common: readonly RefusalCode[] = commonRefusals;

export async function asPromised<T>(action: Action, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code } = error;
    if (code === "not_implemented" || common.includes(code)) throw error;
    if (action.refusals.includes(code)) throw error;
    throw new Error(`A handler refused with ${error.code}, which its action does not list.`, {
      cause: error,
    });
  }
}
