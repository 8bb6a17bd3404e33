// What a prompt's menu offers besides its text. The page of the session knows; where there is none, nothing is offered.
import { createContext } from "react";

export interface ChosenPrompt {
  messageId: string;
  at: string;
}

export interface PromptActs {
  /** Undefined if the session cannot go back. */
  onRevert: ((prompt: ChosenPrompt) => void) | undefined;
  onFork: (() => void) | undefined;
}

export const PromptActs = createContext<PromptActs>({ onRevert: undefined, onFork: undefined });
