// What the transcript draws, and how rows inside of rows are drawn.
import { createContext, type ReactNode } from "react";
import type { Row } from "./row.ts";

/** A row, or a prompt of this page that the log does not have yet. */
export type DrawnRow =
  | Row
  | {
      is: "pending";
      key: string;
      seq: null;
      text: string;
      /** Why it was not sent; undefined while it is on its way. */
      problem: string | undefined;
      onAgain: () => void;
      onTakeBack: () => void;
    };

/** Lanes and reverted rows have rows inside. */
export const DrawRow = createContext<(row: Row) => ReactNode>(() => null);
