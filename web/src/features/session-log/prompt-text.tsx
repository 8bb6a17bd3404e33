// The text of a prompt. Where it names lines above a block of code, as comments on changes do, the name leads to the lines.
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { readLineReference } from "../../words/line-reference.ts";

export function PromptText({ text }: { text: string }): ReactNode {
  const { sessionId } = useParams({ strict: false });
  if (sessionId === undefined || !text.includes("\n```")) return text;
  const lines = text.split("\n");
  return lines.map((line, at) => {
    const isName = lines[at + 1]?.startsWith("```") === true && readLineReference(line);
    return (
      <span key={at}>
        {isName ? (
          <Link
            to="/sessions/$sessionId/review"
            params={{ sessionId }}
            search={(before) => ({ ...before, line })}
          >
            {line}
          </Link>
        ) : (
          line
        )}
        {at < lines.length - 1 && "\n"}
      </span>
    );
  });
}
