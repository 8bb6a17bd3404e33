// Makes a listing of all roots fit into one reply. The longest lists are cut, and marked as truncated.
import type { DirectoryRecord, RootListing } from "@hawser/contract";

/** Includes the comma after it. */
export function sizeOf(record: DirectoryRecord): number {
  return Buffer.byteLength(JSON.stringify(record)) + 1;
}

/** The roots share the room: a root that needs less than its part leaves the rest to the others. */
export function cutToFit(listings: readonly RootListing[], limitBytes: number): RootListing[] {
  const needs = listings.map((listing) => ({ listing, bytes: sizeOf(listing) }));
  const rooms = new Map<RootListing, number>();
  let left = limitBytes;
  needs
    .toSorted((one, other) => one.bytes - other.bytes)
    .forEach(({ listing, bytes }, index) => {
      const room = Math.min(bytes, Math.floor(left / (listings.length - index)));
      rooms.set(listing, room);
      left -= room;
    });
  return needs.map(({ listing, bytes }) => {
    const room = rooms.get(listing)!;
    if (bytes <= room) return listing;
    let used = sizeOf({ ...listing, children: [] } as RootListing);
    const children: DirectoryRecord[] = [];
    for (const child of listing.children) {
      used += sizeOf(child);
      if (used > room) break;
      children.push(child);
    }
    return { ...listing, children, truncated: true };
  });
}
