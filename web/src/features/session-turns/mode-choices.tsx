// What a session's agent may do without asking, as a menu. Modes that the organization does not allow are absent.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { read } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { MenuChoices, MenuLine } from "../../design/menu.tsx";
import { words } from "../../words/words.ts";

export type Mode = Session["mode"];

/** From the narrowest to the widest. */
const modes: readonly Mode[] = ["ask", "auto", "unattended"];

export const modeName = (mode: Mode): string => words(`mode.${mode}`);

export function ModeChoices({
  mode,
  onChoose,
}: {
  mode: Mode | undefined;
  onChoose: (mode: Mode) => void;
}): ReactNode {
  // Who may not read the settings learns the limit from the answer.
  const maySee = useMay("access:view");
  const { data } = useQuery({ ...read("get_settings", {}), enabled: maySee });
  const highest = data?.highestMode ?? "unattended";
  const offered = modes.slice(0, modes.indexOf(highest) + 1);
  return (
    <>
      <MenuChoices
        label={words("mode")}
        value={mode ?? data?.defaultMode}
        options={offered.map((value) => ({
          value,
          label: modeName(value),
          about: words(`mode.${value}.about`),
        }))}
        onChoose={(value) => onChoose(value as Mode)}
      />
      {highest !== "unattended" && (
        <>
          <MenuLine />
          <p className="label">{words("mode.highest", { mode: modeName(highest) })}</p>
        </>
      )}
    </>
  );
}
