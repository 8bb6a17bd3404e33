// A release that is not built, for a reason that the user of the command can correct.
export class ReleaseRefused extends Error {}
