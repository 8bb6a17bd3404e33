// A card that has just appeared is deaf for a moment: a key or a press that was meant for something else must not answer
// it.
export const armingMs = 500;
