// The part of a session's id that ends the name of its branch.

/** The last characters of an id: they are random, and few enough for a branch's name. */
export const shortId = (sessionId: string) =>
  sessionId
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "")
    .slice(-10);
