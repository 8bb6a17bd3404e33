// The menu of the person: theme, phones, sign out.
import { useState, type ReactElement, type ReactNode } from "react";
import { Menu, MenuChoices, MenuItem, MenuLine } from "../design/menu.tsx";
import type { Person } from "../features/access/index.ts";
import { words } from "../words/words.ts";
import { applyTheme, readTheme, type Theme } from "./theme.ts";

export function AccountMenu({
  person,
  trigger,
  onPhone,
  onKeys,
  onSignOut,
}: {
  person: Person;
  trigger: ReactElement<Record<string, unknown>>;
  onPhone: () => void;
  onKeys: () => void;
  onSignOut: () => void;
}): ReactNode {
  const [theme, setTheme] = useState(readTheme);
  return (
    <Menu trigger={trigger}>
      <p className="label">{person.user.email}</p>
      <MenuLine />
      <MenuChoices
        label={words("account.theme")}
        value={theme}
        options={[
          { value: "system", label: words("theme.system") },
          { value: "light", label: words("theme.light") },
          { value: "dark", label: words("theme.dark") },
        ]}
        onChoose={(value) => {
          applyTheme(value as Theme);
          setTheme(value as Theme);
        }}
      />
      <MenuLine />
      {/* A provider signs in all devices of its people itself. */}
      {!person.isOfProvider && <MenuItem onSelect={onPhone}>{words("phone.open")}</MenuItem>}
      <MenuItem onSelect={onKeys}>{words("account.keys")}</MenuItem>
      <MenuItem onSelect={onSignOut}>{words("account.sign_out")}</MenuItem>
    </Menu>
  );
}
