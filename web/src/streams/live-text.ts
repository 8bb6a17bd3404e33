// Text that is being written, put together from pieces. A piece can be lost; the entry of the item replaces the text.

export interface LivePiece {
  itemId: string;
  turnId: string | null;
  /** message, thought or output; a later service may send others. */
  kind: string;
  text: string;
  offset: number;
}

export interface LiveItem extends Omit<LivePiece, "offset"> {
  /** A piece was lost, so nothing more is added until the item begins again. */
  hasGap: boolean;
}

/** The item after a piece. Offset 0 begins the item again. */
export function addPiece(item: LiveItem | undefined, piece: LivePiece): LiveItem {
  const { offset, ...begun } = piece;
  if (offset === 0) return { ...begun, hasGap: false };
  if (!item) return { ...begun, text: "", hasGap: true };
  if (item.hasGap) return item;
  if (offset > item.text.length) return { ...item, hasGap: true };
  return { ...item, text: item.text.slice(0, offset) + piece.text };
}
