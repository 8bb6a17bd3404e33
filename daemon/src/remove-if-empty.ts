// Removes a directory if it is empty.
import { rmdirSync } from "node:fs";

export function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "ENOENT") throw error;
  }
}
