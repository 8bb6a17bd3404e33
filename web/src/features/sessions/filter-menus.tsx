// The menus that limit a list of sessions to a host, a person or an agent kind.
import { ChevronDown } from "lucide-react";
import type { ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { read, useRead } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Menu, MenuChoices } from "../../design/menu.tsx";
import { plainText } from "../../design/plain.tsx";
import { kindName } from "../../words/kinds.ts";
import { words } from "../../words/words.ts";

/** What a list of sessions is limited to, as its address says it. */
export interface Limits {
  host?: string | undefined;
  person?: string | undefined;
  kind?: string | undefined;
  text?: string | undefined;
}

export const agentKinds = ["opencode", "claude_code", "codex"] as const;

export function FilterMenus({
  host,
  person,
  kind,
  onChange,
}: Limits & { onChange: (change: Limits) => void }): ReactNode {
  const { data: hosts } = useRead("search_instances", {});
  const maySeeMembers = useMay("access:view");
  const { data: members } = useQuery({ ...read("list_members", {}), enabled: maySeeMembers });
  return (
    <>
      <Filter
        label={words("sessions.filter.host")}
        all={words("sessions.filter.all_hosts")}
        value={host}
        options={(hosts?.instances ?? []).map(({ instanceId, name }) => ({
          value: instanceId,
          label: plainText(name),
        }))}
        onChange={(next) => onChange({ host: next })}
      />
      {members && (
        <Filter
          label={words("sessions.filter.person")}
          all={words("sessions.filter.all_people")}
          value={person}
          options={members.members.map(({ userId, name, email }) => ({
            value: userId,
            label: plainText(name ?? email),
          }))}
          onChange={(next) => onChange({ person: next })}
        />
      )}
      <Filter
        label={words("sessions.filter.kind")}
        all={words("sessions.filter.all_kinds")}
        value={kind}
        options={agentKinds.map((each) => ({ value: each, label: kindName(each) }))}
        onChange={(next) => onChange({ kind: next })}
      />
    </>
  );
}

function Filter({
  label,
  all,
  value,
  options,
  onChange,
}: {
  label: string;
  all: string;
  value: string | undefined;
  options: { value: string; label: string }[];
  onChange: (value: string | undefined) => void;
}): ReactNode {
  const chosen = options.find((option) => option.value === value);
  return (
    <Menu
      trigger={
        <button type="button" className="btn">
          {chosen?.label ?? (value === undefined ? all : label)}{" "}
          <ChevronDown className="icon s dim" aria-hidden />
        </button>
      }
    >
      <MenuChoices
        label={label}
        value={value ?? ""}
        options={[{ value: "", label: all }, ...options]}
        onChoose={(next) => onChange(next === "" ? undefined : next)}
      />
    </Menu>
  );
}
