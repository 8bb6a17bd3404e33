// Marks a text wherever the transcript shows it, and draws a box round the match that a person has gone to. The rows
// are React's, so nothing in them is changed: the marks are highlights of the browser.
import { matchesIn, partOf } from "./reveal.ts";

/** Where the match is that the person has gone to. */
export interface CurrentMatch {
  at: number;
  toolCallId: string | undefined;
}

export interface Marks {
  update: (text: string, current: CurrentMatch | undefined) => void;
  stop: () => void;
}

const highlightName = "found";

export function markMatches(scroller: HTMLElement): Marks {
  const rows = scroller.querySelector<HTMLElement>(".log-rows");
  const box = document.createElement("div");
  box.className = "found-box";
  box.hidden = true;
  scroller.append(box);
  let text = "";
  let current: CurrentMatch | undefined;
  let frame = 0;
  const draw = () => {
    frame = 0;
    const found = text === "" || !rows ? [] : matchesIn(rows, text);
    CSS.highlights?.set(highlightName, new Highlight(...found));
    drawBox(scroller, box, text, current);
  };
  const later = () => {
    if (frame === 0) frame = requestAnimationFrame(draw);
  };
  const observer = new MutationObserver(later);
  if (rows) {
    const all = { subtree: true, childList: true, characterData: true };
    observer.observe(rows, { ...all, attributes: true, attributeFilter: ["style"] });
  }
  return {
    update(nextText, next) {
      text = nextText;
      current = next;
      later();
    },
    stop() {
      observer.disconnect();
      cancelAnimationFrame(frame);
      CSS.highlights?.delete(highlightName);
      box.remove();
    },
  };
}

function drawBox(
  scroller: HTMLElement,
  box: HTMLElement,
  text: string,
  current: CurrentMatch | undefined,
): void {
  const row =
    current && scroller.querySelector<HTMLElement>(`.log-row[data-index="${current.at}"]`);
  const match = row && text !== "" && matchesIn(partOf(row, current.toolCallId), text)[0];
  box.hidden = !match;
  if (!match) return;
  const place = match.getBoundingClientRect();
  const origin = scroller.getBoundingClientRect();
  const style = {
    top: place.top - origin.top + scroller.scrollTop,
    left: place.left - origin.left + scroller.scrollLeft,
    width: place.width,
    height: place.height,
  };
  for (const [name, value] of Object.entries(style)) {
    box.style.setProperty(name, `${value}px`);
  }
}
