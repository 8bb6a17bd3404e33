// Whether an element is in sight. Rows come and go as the transcript scrolls, so it is looked for again.
import { useEffect, useState } from "react";

const everyMs = 250;

/** By its id. False while it is not drawn at all. */
export function useIsShown(id: string | undefined): boolean {
  const [isShown, setIsShown] = useState(true);
  useEffect(() => {
    if (id === undefined) return undefined;
    const look = () => {
      const element = document.querySelector(`#${CSS.escape(id)}`);
      const scroller = element?.closest(".log");
      if (!element || !scroller) {
        setIsShown(false);
        return;
      }
      const { bottom } = element.getBoundingClientRect();
      setIsShown(bottom > scroller.getBoundingClientRect().top);
    };
    look();
    const timer = setInterval(look, everyMs);
    return () => clearInterval(timer);
  }, [id]);
  return isShown;
}
