// An action answers only the refusals it lists. Any other refusal of its handler is our fault: it is
// not stored for retries, and the caller receives an incident id.
import { Refusal, commonRefusals, type Action, type RefusalCode } from "@hawser/contract";

const common: readonly RefusalCode[] = commonRefusals;

export async function asPromised<T>(action: Action, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code } = error;
    if (common.includes(code) || action.refusals.includes(code)) throw error;
    throw new Error(`A handler refused with ${error.code}, which its action does not list.`, {
      cause: error,
    });
  }
}
