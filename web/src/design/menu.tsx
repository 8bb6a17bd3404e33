// Menus: one part for all of them, without the mode that blocks the page, which would write its own styles. Until it is
// first pressed, a menu is its button alone.
import { cloneElement, lazy, Suspense, useState, type ReactElement, type ReactNode } from "react";

const load = () => import("./menu-parts.tsx");
const OpenMenu = lazy(async () => ({ default: (await load()).OpenMenu }));

export const MenuItem = lazy(async () => ({ default: (await load()).Item }));
export const MenuChoices = lazy(async () => ({ default: (await load()).Choices }));
export const MenuLine = lazy(async () => ({ default: (await load()).Line }));

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
    onPointerEnter: () => void load(),
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
