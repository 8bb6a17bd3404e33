// The open menu and its items. Loaded when the first menu is opened, because the code that places a menu is large.
import { DropdownMenu } from "radix-ui";
import { Check } from "lucide-react";
import { Suspense, useLayoutEffect, useRef, useState, type ReactNode } from "react";

/** Open at once, because its trigger has been pressed. */
export function OpenMenu({
  trigger,
  align,
  children,
}: {
  trigger: ReactNode;
  align: "start" | "center";
  children: ReactNode;
}): ReactNode {
  const ref = useRef<HTMLButtonElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  // In the part of the page that it belongs to. Below an open dialog it would be dead.
  const [container, setContainer] = useState<HTMLElement | null>(null);
  useLayoutEffect(() => {
    setContainer(ref.current?.closest<HTMLElement>("dialog, main, aside, nav") ?? null);
    setIsOpen(true);
  }, []);
  return (
    <DropdownMenu.Root modal={false} open={isOpen} onOpenChange={setIsOpen}>
      <DropdownMenu.Trigger asChild ref={ref}>
        {trigger}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal container={container}>
        <DropdownMenu.Content
          className="menu"
          align={align}
          sideOffset={4}
          collisionPadding={8}
          onCloseAutoFocus={() => focusAfterDialog(ref.current)}
        >
          {/* Of its own: choices that are still loaded must not take the open menu away. */}
          <Suspense>{children}</Suspense>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

/** A dialog that an item opens gives the focus back to the item, which is gone. So the button gets it. */
function focusAfterDialog(trigger: HTMLElement | null): void {
  const dialog = document.querySelector("dialog:modal");
  if (!dialog || dialog.contains(trigger)) return;
  const give = () => {
    if (document.activeElement === document.body) trigger?.focus();
  };
  dialog.addEventListener("close", give, { once: true });
}

export const Item = DropdownMenu.Item;

/** Choices of which one holds. */
export function Choices({
  label,
  value,
  options,
  onChoose,
}: {
  label: string;
  value: string | undefined;
  options: { value: string; label: string; about?: string }[];
  onChoose: (value: string) => void;
}): ReactNode {
  return (
    <DropdownMenu.RadioGroup {...(value !== undefined && { value })} onValueChange={onChoose}>
      <DropdownMenu.Label className="label">{label}</DropdownMenu.Label>
      {options.map((option) => (
        <DropdownMenu.RadioItem key={option.value} value={option.value}>
          <span className="tick">
            <DropdownMenu.ItemIndicator>
              <Check className="icon s" aria-hidden />
            </DropdownMenu.ItemIndicator>
          </span>
          <span className="grow">
            {option.label}
            {option.about !== undefined && <span className="about">{option.about}</span>}
          </span>
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  );
}

export const Line = (): ReactNode => (
  <DropdownMenu.Separator asChild>
    <hr />
  </DropdownMenu.Separator>
);
