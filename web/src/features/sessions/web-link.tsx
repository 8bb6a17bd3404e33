// A link to an address of the web that a host has reported. Any other address is only text.
import type { ReactNode } from "react";
import { Plain } from "../../design/plain.tsx";
import { safeLink } from "../../design/safe-link.ts";

export function WebLink({
  address,
  className = "link",
  children,
}: {
  address: string;
  className?: string;
  children?: ReactNode;
}): ReactNode {
  const link = safeLink(address);
  if (!link) return <Plain text={address} />;
  return (
    <a className={className} href={link.href} target="_blank" rel="noopener noreferrer">
      {children ?? <Plain text={address} />}
    </a>
  );
}
