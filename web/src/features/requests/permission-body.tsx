// What a request card shows of a permission, and the buttons that answer it.
import type { Request } from "@hawser/client";
import type { ReactNode } from "react";
import { useHasSingleKeys } from "../../keyboard/index.ts";
import { words } from "../../words/words.ts";
import type { PermissionAnswer, Where } from "./card-state.ts";
import { Visible } from "./visible.tsx";

export function PermissionBody({ request, where }: { request: Request; where: Where }): ReactNode {
  const { title, detail, alwaysRules } = request.permission!;
  return (
    <div className="body" tabIndex={0} role="group" aria-label={words("request.card.permission")}>
      {detail !== null && (
        <pre className={title === "Carry out the plan" ? "cmd text" : "cmd"}>
          <Visible text={detail} />
        </pre>
      )}
      <dl className="facts">
        {where.directory !== undefined && (
          <>
            <dt>{words("request.runs_in")}</dt>
            <dd>
              {where.isWorktree && words("worktree_of")}{" "}
              <span className="mono">
                <Visible text={where.directory} />
              </span>{" "}
              {where.host !== undefined && (
                <span className="dim">{words("request.on", { host: where.host })}</span>
              )}
            </dd>
          </>
        )}
        {request.rule !== null && (
          <>
            <dt>{words("request.why")}</dt>
            <dd>
              <Visible text={request.rule} />
            </dd>
          </>
        )}
        {alwaysRules.length > 0 && (
          <>
            <dt>{words("request.stores")}</dt>
            <dd>
              {alwaysRules.map((rule) => (
                <span key={rule} className="rule">
                  <Visible text={rule} />
                </span>
              ))}
              <span className="why">{words("request.stores.what")}</span>
            </dd>
          </>
        )}
      </dl>
    </div>
  );
}

export function PermissionButtons({
  request,
  isOpen,
  isTyping,
  sending,
  onAnswer,
  onReject,
}: {
  request: Request;
  isOpen: boolean;
  isTyping: boolean;
  sending: PermissionAnswer | undefined;
  onAnswer: (answer: PermissionAnswer) => void;
  /** Rejects, and leads to where the note is written. */
  onReject: (() => void) | undefined;
}): ReactNode {
  const hasKeys = useHasSingleKeys();
  const pressable = (
    name: string,
    letter: string,
    text: string,
    onClick: () => void,
    what?: string,
  ) => (
    <button
      type="button"
      className={`btn answer ${name}`}
      aria-disabled={!isOpen}
      onClick={onClick}
      title={what}
    >
      {text} <kbd aria-hidden>{isTyping || !hasKeys ? "" : letter}</kbd>
    </button>
  );
  const button = (answer: PermissionAnswer, letter: string, name: string) =>
    pressable(
      name,
      letter,
      words(sending === answer ? "request.sending" : `request.${answer}`),
      () => onAnswer(answer),
    );
  return (
    <>
      {request.permission!.alwaysRules.length > 0 && button("always", "A", "always")}
      <span className="push">
        {isTyping && hasKeys && <span className="dim no-phone">{words("request.esc_first")}</span>}
      </span>
      {onReject &&
        pressable(
          "bare no-phone",
          "R",
          words("request.note"),
          onReject,
          words("request.note.what"),
        )}
      {button("reject", "N", "")}
      {button("once", "Y", "primary")}
    </>
  );
}
