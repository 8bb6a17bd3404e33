// Whether the sidebar is narrow, on this device.
import { useState } from "react";

const storedAs = "hawser.sidebar";

export function useNarrowSidebar(): [isNarrow: boolean, toggle: () => void] {
  const [isNarrow, setIsNarrow] = useState(() => localStorage.getItem(storedAs) === "narrow");
  return [
    isNarrow,
    () => {
      if (isNarrow) localStorage.removeItem(storedAs);
      else localStorage.setItem(storedAs, "narrow");
      setIsNarrow(!isNarrow);
    },
  ];
}
