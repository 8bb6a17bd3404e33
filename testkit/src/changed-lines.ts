// The lines that changes of files add and remove, for tests that are about nothing else.
interface ChangedLines {
  path: string;
  added: number;
  removed: number;
}

export const changedLines = (files: readonly ChangedLines[]): ChangedLines[] =>
  files.map(({ path, added, removed }) => ({ path, added, removed }));
