// Menus: one part for all of them, without the mode that blocks the page, which would write its own styles. Until it is
// first pressed, a menu is its button alone.
import { cloneElement, Suspense, useState, type ReactElement, type ReactNode } from "react";
import { part } from "./part.tsx";

export const loadMenus = () => import("./menu-parts.tsx");
const OpenMenu = part(async () => (await loadMenus()).OpenMenu);

export const MenuItem = part(async () => (await loadMenus()).Item);
export const MenuChoices = part(async () => (await loadMenus()).Choices);
export const MenuLine = part(async () => (await loadMenus()).Line);

export function Menu({
  trigger,
  align = "center",
  children,
}: {
  trigger: ReactElement<Record<string, unknown>>;
  align?: "start" | "center";
  children: ReactNode;
}): ReactNode {
  const [isWanted, setIsWanted] = useState(false);
  const closed = cloneElement(trigger, {
    "aria-haspopup": "menu",
    "aria-expanded": false,
    onClick: () => setIsWanted(true),
    // Whether it can be loaded is seen when it is opened.
    onPointerEnter: () => void loadMenus().catch(() => {}),
  });
  if (!isWanted) return closed;
  return (
    <Suspense fallback={closed}>
      <OpenMenu trigger={trigger} align={align}>
        {children}
      </OpenMenu>
    </Suspense>
  );
}
