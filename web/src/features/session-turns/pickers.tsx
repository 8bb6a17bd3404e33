// The pickers of the composer: files, what the agent may do, model, options. Menus read what they offer when they are
// opened.
import type { Session } from "@hawser/client";
import { ChevronDown, Plus, Shield } from "lucide-react";
import { useRef, type ReactNode, type Ref } from "react";
import { useChange } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Menu } from "../../design/menu.tsx";
import { useAct } from "../../keyboard/index.ts";
import { words } from "../../words/words.ts";
import { ModeChoices, modeName, type Mode } from "./mode-choices.tsx";
import { ModelChoices } from "./model-choices.tsx";
import type { Choices } from "../drafts/index.ts";
import { OptionChoices } from "./option-choices.tsx";

interface PickersProps {
  session: Pick<Session, "sessionId" | "instanceId" | "agentKind" | "mode" | "model">;
  choices: Choices;
  onChoose: (choices: Choices) => void;
  onFiles: (files: readonly File[]) => void;
  onProblem: (problem: unknown) => void;
}

export function Pickers({
  session,
  choices,
  onChoose,
  onFiles,
  onProblem,
}: PickersProps): ReactNode {
  const { sessionId, instanceId, agentKind, mode } = session;
  const model = choices.model ?? session.model ?? undefined;
  const mayEdit = useMay("sessions:edit");
  const setMode = useChange("set_session_mode", ["get_session_summary"]);
  const modeButton = useRef<HTMLButtonElement>(null);
  useAct("mode", () => openMenu(modeButton.current), mayEdit);
  if (!mayEdit) return null;
  const changeMode = (next: Mode) =>
    setMode.mutate(
      { sessionId, mode: next },
      { onError: onProblem, onSuccess: () => onProblem(undefined) },
    );
  return (
    <>
      <FileButton onFiles={onFiles} />
      <ModePicker ref={modeButton} mode={mode} isBusy={setMode.isPending} onChoose={changeMode} />
      <ModelPicker
        instanceId={instanceId}
        agentKind={agentKind}
        model={model}
        onChoose={(chosen) => onChoose({ ...choices, model: chosen })}
      />
      <OptionsPicker
        instanceId={instanceId}
        agentKind={agentKind}
        model={model}
        choices={choices}
        onChoose={onChoose}
      />
    </>
  );
}

export function FileButton({ onFiles }: { onFiles: (files: readonly File[]) => void }): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        className="pick"
        aria-label={words("files.add")}
        onClick={() => input.current?.click()}
      >
        <Plus className="icon" aria-hidden />
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          // The same file may be chosen again.
          target.value = "";
        }}
      />
    </>
  );
}

export function ModePicker({
  mode,
  isBusy = false,
  onChoose,
  ref,
}: {
  /** Undefined: what the organization sets for new sessions. */
  mode: Mode | undefined;
  isBusy?: boolean;
  onChoose: (mode: Mode) => void;
  ref?: Ref<HTMLButtonElement>;
}): ReactNode {
  const name = mode === undefined ? words("mode") : modeName(mode);
  return (
    <Picker
      ref={ref}
      label={words("mode.picker", { mode: name })}
      text={name}
      icon={<Shield className="icon s" aria-hidden />}
      isBusy={isBusy}
      className={mode === "unattended" ? "amber" : ""}
    >
      <ModeChoices mode={mode} onChoose={onChoose} />
    </Picker>
  );
}

interface OfKind {
  instanceId: string;
  agentKind: Session["agentKind"];
  model: Choices["model"];
}

export function ModelPicker({
  onChoose,
  ...kind
}: OfKind & { onChoose: (model: NonNullable<Choices["model"]>) => void }): ReactNode {
  const name = kind.model?.modelId;
  return (
    <Picker
      label={words("model.picker", { model: name ?? words("model.default") })}
      text={name ?? words("model")}
      className="no-phone"
    >
      <ModelChoices {...kind} onChoose={onChoose} />
    </Picker>
  );
}

export function OptionsPicker({
  choices,
  hasAgent = true,
  ...kind
}: OfKind & {
  choices: Choices;
  /** Whether it offers the agent's modes too. */
  hasAgent?: boolean;
  onChoose: (choices: Choices) => void;
}): ReactNode {
  const chosen = [choices.agent, ...Object.values(choices.options ?? {})].filter(Boolean);
  return (
    <Picker
      label={words("options.picker")}
      text={chosen.length > 0 ? chosen.join(", ") : words("options")}
      className="no-phone"
    >
      <OptionChoices {...kind} choices={choices} hasAgent={hasAgent} />
    </Picker>
  );
}

export function Picker({
  label,
  text,
  icon,
  isBusy = false,
  className = "",
  children,
  ref,
}: {
  label: string;
  text: ReactNode;
  icon?: ReactNode;
  isBusy?: boolean;
  className?: string;
  children: ReactNode;
  ref?: Ref<HTMLButtonElement> | undefined;
}): ReactNode {
  return (
    <Menu
      align="start"
      trigger={
        <button
          ref={ref}
          type="button"
          className={`pick ${className}`}
          aria-label={label}
          aria-busy={isBusy}
        >
          {icon}
          <span className="cut">{text}</span>
          <ChevronDown className="icon s" aria-hidden />
        </button>
      }
    >
      {children}
    </Menu>
  );
}

/** As a press of its button does. A menu that was open before takes the arrow key only. */
function openMenu(button: HTMLButtonElement | null): false | void {
  // In the review the composer is out of sight.
  if (button?.checkVisibility({ visibilityProperty: true }) !== true) return false;
  button.focus();
  button.click();
  button.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
  return undefined;
}
