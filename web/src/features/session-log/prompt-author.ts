// Whose prompts these are: the log does not say it, so it is whoever started the session.
import { createContext } from "react";

export const PromptAuthor = createContext("");
