// Puts prompts that were not sent into the composer, which stands outside the transcript.
import { createContext } from "react";

/** Undefined where there is no composer. */
export const PutBack = createContext<((texts: readonly string[]) => void) | undefined>(undefined);
