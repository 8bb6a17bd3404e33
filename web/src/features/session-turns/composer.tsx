// The composer. A component of its own, outside the transcript's tree: a key press renders nothing else.
import type { Session } from "@hawser/client";
import { ArrowUp, Square } from "lucide-react";
import {
  memo,
  Suspense,
  useEffect,
  useEffectEvent,
  useId,
  useImperativeHandle,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type Ref,
} from "react";
import { useAct } from "../../keyboard/index.ts";
import { words } from "../../words/words.ts";
import { useDrop, useLeaveOrStop } from "./composer-hooks.ts";
import { sends } from "./composer-keys.ts";
import type { Context } from "./context-meter.tsx";
import { CommandList, ContextMeter, FileChips, Pickers } from "./lazy.ts";
import type { Choices, Extras } from "../drafts/index.ts";
import type { Prompts } from "./prompts.ts";
import { RefusedLine } from "./refused-line.tsx";
import { runShell } from "./run-shell.ts";
import { hasCommand, useCommands } from "./use-commands.ts";
import { useDraft } from "./use-draft.ts";
import { attachPasted } from "./paste.ts";
import { isUploading } from "./use-files.ts";
import { namedCommand, shellLine } from "./written.ts";

export interface ComposerHandle {
  /** Adds texts that were not sent, the oldest first. */
  putBack: (texts: readonly string[], extras?: Extras) => void;
  focus: () => void;
  isEmpty: () => boolean;
}

type Settings = Pick<
  Session,
  "sessionId" | "instanceId" | "agentKind" | "capabilities" | "mode" | "model"
>;

interface ComposerProps {
  session: Settings;
  prompts: Prompts;
  /** Something runs that can be stopped. */
  isRunning: boolean;
  hasRequest: boolean;
  /** Why nothing can be sent now; undefined if it can. */
  blocked: string | undefined;
  /** What the session has cost, such as "$1.84". */
  cost: string | undefined;
  /** How full the model's context is; undefined if the agent does not report it. */
  context: Context | undefined;
  /** The text of the prompt before; undefined if there is none. */
  lastPrompt: () => string | undefined;
  onStop: () => void;
  ref: Ref<ComposerHandle>;
}

export const Composer = memo(function Composer({
  session,
  prompts,
  isRunning,
  hasRequest,
  blocked,
  cost,
  context,
  lastPrompt,
  onStop,
  ref,
}: ComposerProps): ReactNode {
  const { sessionId, capabilities } = session;
  const draft = useDraft(prompts);
  const { text, choices, files, write } = draft;
  /** Why what is written was not sent. */
  const [problem, setProblem] = useState<unknown>();
  const [isAsking, setIsAsking] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const listId = useId();
  const commands = useCommands(sessionId, text, capabilities.includes("commands"));
  const { leaveOrStop, isLeaving } = useLeaveOrStop(field, isRunning, onStop);
  useAct("compose", () => field.current?.focus());
  useImperativeHandle(ref, () => ({
    putBack(texts, extras = {}) {
      write([text, ...texts].filter((each) => each !== "").join("\n\n"));
      takeExtras(extras);
    },
    focus: () => field.current?.focus(),
    isEmpty: () => field.current?.value === "",
  }));

  const takeExtras = (extras: Extras) => {
    draft.choose({ ...choices, ...extras.choices });
    files.restore(extras.files ?? []);
  };
  const takeRefused = useEffectEvent<Parameters<Prompts["onRefused"]>[0]>((prompt, refused) => {
    if (text.trim() !== "" || files.list.length > 0) return false;
    write(prompt.text);
    takeExtras(prompt);
    setProblem(refused);
    return true;
  });
  useEffect(() => prompts.onRefused((prompt, refused) => takeRefused(prompt, refused)), [prompts]);
  const attach = async (added: readonly File[]) => setProblem(await files.add(added));
  const isDropping = useDrop((dropped) => void attach(dropped));
  const onPaste = attachPasted((pasted) => void attach(pasted));

  const canSend =
    text.trim() !== "" && blocked === undefined && !isAsking && !isUploading(files.list);
  const shell = capabilities.includes("shell") ? shellLine(text) : undefined;
  const ask = async (work: () => Promise<void>) => {
    setIsAsking(true);
    try {
      await work();
    } catch (error) {
      setProblem(error);
    } finally {
      setIsAsking(false);
    }
  };
  const sendPrompt = (command?: string) => {
    prompts.send(text, { ...draft.extras(), ...(command !== undefined && { command }) });
    // A command has no model and no options: they stay for the next prompt.
    const { agent: _, ...left } = choices;
    clear(command === undefined ? {} : left);
  };
  /** Empties the field after it was sent. What was typed while the host was asked stays. */
  const clear = (left: Choices) => {
    const typed = field.current?.value ?? text;
    draft.clear(left);
    if (typed !== text) write(typed);
  };
  const send = () => {
    if (!canSend) return;
    setProblem(undefined);
    const named = capabilities.includes("commands") ? namedCommand(text) : undefined;
    if (shell !== undefined) {
      void ask(async () => {
        await runShell(sessionId, shell);
        clear(choices);
      });
    } else if (named === undefined) sendPrompt();
    else
      void ask(async () => {
        const isCommand = await hasCommand(sessionId, named);
        if (isCommand && files.list.length > 0) setProblem(words("commands.no_files"));
        else sendPrompt(isCommand ? named : undefined);
      });
  };
  const pick = (name: string) => {
    write(`/${name} `);
    field.current?.focus();
  };
  const isListed = commands.isOpen && commands.shown.length > 0;
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    // oxlint-disable-next-line typescript/no-deprecated -- only the code tells Safari's last key of a composition
    const { key, keyCode, shiftKey, metaKey, ctrlKey, nativeEvent } = event;
    const { isComposing } = nativeEvent;
    if (key === "Escape" && !isComposing) {
      // The listener of the second press is added before this one reaches the window, and would take it for the second.
      event.stopPropagation();
      if (commands.isOpen) commands.close();
      else leaveOrStop();
      return;
    }
    if (isListed && !isComposing && actInList(key)) {
      event.preventDefault();
      return;
    }
    if (key === "ArrowUp" && text === "") {
      const last = lastPrompt();
      if (last === undefined) return;
      event.preventDefault();
      write(last);
      return;
    }
    const isTouch = matchMedia("(pointer: coarse)").matches;
    const hasCommandKey = metaKey || ctrlKey;
    const pressed = { key, keyCode, isComposing, hasShift: shiftKey, hasCommand: hasCommandKey };
    if (!sends({ ...pressed, isTouch })) return;
    event.preventDefault();
    send();
  };
  /** Returns whether the key was the list's. */
  const actInList = (key: string): boolean => {
    const { shown, active, move } = commands;
    const command = shown[active]!;
    if (key === "ArrowDown" || key === "ArrowUp") move(key === "ArrowDown" ? 1 : -1);
    // A name that is written out is sent.
    else if (key === "Tab" || (key === "Enter" && text !== `/${command.name}`)) pick(command.name);
    else return false;
    return true;
  };

  return (
    <div className={isDropping ? "composer dropping" : "composer"}>
      {blocked !== undefined && <p className="problem">{blocked}</p>}
      {problem !== undefined && <RefusedLine problem={problem} instanceId={session.instanceId} />}
      <Suspense>
        {commands.isOpen && <CommandList id={listId} commands={commands} onPick={pick} />}
        {files.list.length > 0 && <FileChips files={files.list} onRemove={files.remove} />}
      </Suspense>
      <textarea
        ref={field}
        rows={1}
        value={text}
        className={shell === undefined ? undefined : "mono"}
        aria-label={words("composer")}
        aria-autocomplete="list"
        {...(isListed && {
          "aria-controls": listId,
          "aria-activedescendant": `${listId}-${commands.active}`,
        })}
        placeholder={words(
          hasRequest ? "composer.answer_above" : isRunning ? "composer.add" : "composer.reply",
        )}
        enterKeyHint="send"
        onChange={(event) => write(event.target.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <div className="tools">
        <Suspense>
          <Pickers
            session={session}
            choices={choices}
            onChoose={draft.choose}
            onFiles={(added) => void attach(added)}
            onProblem={setProblem}
          />
        </Suspense>
        {isLeaving && <span className="dim">{words("composer.esc_again")}</span>}
        {shell !== undefined && <span className="dim cut">{words("composer.shell")}</span>}
        <span className="meter push">
          {context && (
            <Suspense>
              <ContextMeter
                session={session}
                context={context}
                isRunning={isRunning}
                prompts={prompts}
                onProblem={setProblem}
              />
            </Suspense>
          )}
          {cost}
        </span>
        {isRunning && (
          <button
            type="button"
            className="go quiet"
            aria-label={words("composer.stop")}
            onClick={onStop}
          >
            <Square className="icon s" fill="currentColor" aria-hidden />
          </button>
        )}
        <button
          type="button"
          className="go"
          aria-disabled={!canSend}
          aria-label={words(isRunning ? "composer.send_next" : "composer.send")}
          onClick={send}
        >
          <ArrowUp className="icon" aria-hidden />
        </button>
      </div>
    </div>
  );
});
