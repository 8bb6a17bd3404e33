// The part of a session's id that ends the name of its branch.

/** The end of an id is its random part, and short enough for a branch. */
export const shortId = (sessionId: string) =>
  sessionId
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "")
    .slice(-10);
