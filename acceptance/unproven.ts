// The requirements that no scenario proves, with the reason. A whole run fails if this list is wrong.
import type { RequirementId } from "./requirement-ids.ts";

export const unproven: Partial<Record<RequirementId, string>> = {};
