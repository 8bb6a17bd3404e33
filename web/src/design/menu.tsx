// Menus: one part for all of them, without the mode that blocks the page, which would write its own styles.
import { DropdownMenu } from "radix-ui";
import { Check } from "lucide-react";
import { useRef, useState, type ReactNode } from "react";

export function Menu({
  trigger,
  align = "center",
  children,
}: {
  trigger: ReactNode;
  align?: "start" | "center";
  children: ReactNode;
}): ReactNode {
  const ref = useRef<HTMLButtonElement>(null);
  // In the part of the page that it belongs to. Below an open dialog it would be dead.
  const [container, setContainer] = useState<HTMLElement | null>(null);
  return (
    <DropdownMenu.Root
      modal={false}
      onOpenChange={(isOpen) => {
        if (isOpen)
          setContainer(ref.current?.closest<HTMLElement>("dialog, main, aside, nav") ?? null);
      }}
    >
      <DropdownMenu.Trigger asChild ref={ref}>
        {trigger}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal container={container}>
        <DropdownMenu.Content className="menu" align={align} sideOffset={4} collisionPadding={8}>
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

export const MenuItem = DropdownMenu.Item;

/** Choices of which one holds. */
export function MenuChoices({
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

export const MenuLine = (): ReactNode => (
  <DropdownMenu.Separator asChild>
    <hr />
  </DropdownMenu.Separator>
);
