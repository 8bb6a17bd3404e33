// Whose prompts these are. The log names users by their ids; older entries do not, and then it is whoever started the
// session.
import { createContext } from "react";

/** The name for the `by` of a prompt; "own": for a prompt of this page that the log does not have yet. */
export const PromptAuthor = createContext((_by: string | null | undefined): string => "");
