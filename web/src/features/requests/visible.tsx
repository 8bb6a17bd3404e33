// A text of an agent, whole and with every hidden character visible.
import type { ReactNode } from "react";
import { visibleParts } from "./visible-text.ts";

export function Visible({ text }: { text: string }): ReactNode {
  return visibleParts(text).map(({ text: part, isStrange }, at) =>
    isStrange ? (
      <span key={at} className="strange">
        {part}
      </span>
    ) : (
      part
    ),
  );
}
