// Actions that are promised but not built. They answer 501 after all checks that precede a handler, and
// are neither listed nor offered as tools. The list only shrinks.
import type { ActionName } from "@hawser/contract";

export const notYet: readonly ActionName[] = [];
