// Brings what was looked for into sight. Rows get their real heights only when they are drawn, so its place is looked
// for again in each frame until it stands still.

export interface Revealed {
  /** The row, as the virtual list numbers it. */
  at: number;
  toolCallId: string | undefined;
  /** What was looked for; the row itself is shown without it. */
  text: string | undefined;
}

const longestFrames = 40;
const stillFrames = 4;

/** `drawRow` makes the list draw a row that is far away. */
export function reveal(
  scroller: HTMLElement,
  { at, toolCallId, text }: Revealed,
  drawRow: (at: number) => void,
): void {
  let still = 0;
  let frames = 0;
  const look = () => {
    frames += 1;
    const row = scroller.querySelector<HTMLElement>(`.log-row[data-index="${at}"]`);
    if (!row) drawRow(at);
    else still = Math.abs(center(scroller, placeOf(row, toolCallId, text))) < 1 ? still + 1 : 0;
    if (still < stillFrames && frames < longestFrames) requestAnimationFrame(look);
  };
  look();
}

/** Scrolls; returns by how much. Something that is too high is shown from its beginning. */
function center(scroller: HTMLElement, place: DOMRect): number {
  const { top, height } = scroller.getBoundingClientRect();
  const before = scroller.scrollTop;
  scroller.scrollTop += place.top - top - Math.max(0, (height - place.height) / 2);
  return scroller.scrollTop - before;
}

function placeOf(row: HTMLElement, toolCallId: string | undefined, text: string | undefined) {
  const part = partOf(row, toolCallId);
  return (
    (text && matchesIn(part, text)[0]?.getBoundingClientRect()) || part.getBoundingClientRect()
  );
}

/** The call in a row of several. */
export function partOf(row: HTMLElement, toolCallId: string | undefined): HTMLElement {
  if (toolCallId === undefined) return row;
  const calls = row.querySelectorAll<HTMLElement>("[data-call]");
  return [...calls].find(({ dataset }) => dataset["call"] === toolCallId) ?? row;
}

/** Where a text stands, in any case. */
export function matchesIn(part: Node, text: string): Range[] {
  const sought = text.toLowerCase();
  const found: Range[] = [];
  const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const content = node.nodeValue!.toLowerCase();
    // Letters whose lower case is longer would shift what follows.
    if (content.length !== node.nodeValue!.length) continue;
    for (let at = content.indexOf(sought); at !== -1; at = content.indexOf(sought, at + 1)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + sought.length);
      found.push(range);
    }
  }
  return found;
}
