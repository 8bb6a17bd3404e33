// An action gives only the refusals it lists. Any other that its handler throws is a fault of ours,
// and is treated as one: it is not kept for retries and reaches the caller as an incident.
import { Refusal, commonRefusals, type Action, type RefusalCode } from "@hawser/contract";

const common: readonly RefusalCode[] = commonRefusals;

export async function asPromised<T>(action: Action, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (common.includes(error.code) || action.refusals.includes(error.code)) throw error;
    throw new Error(`A handler refused with ${error.code}, which its action does not list.`, {
      cause: error,
    });
  }
}
