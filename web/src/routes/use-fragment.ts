// What follows the # in the address: there the links of invitations, owners and phones have their secrets, so that no
// server and no log sees them.
import { useEffect, useState } from "react";

export function useFragment(): string {
  const [fragment, setFragment] = useState(() => location.hash.slice(1));
  useEffect(() => {
    const change = () => setFragment(location.hash.slice(1));
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  return fragment;
}
