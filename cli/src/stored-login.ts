// What `hawser login` has stored: a service and this user's key there. It lies in the data directory of `hawser up`,
// which agents of this machine may not name.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { readPrivate, writePrivate } from "./private-file.ts";

export interface StoredLogin {
  url: string;
  key: string;
  apiKeyId: string;
  /** Whether a program of this user listened there, so that no other user's program may get the key. */
  isOwn: boolean;
}

const name = "login.json";
export const storedLoginFile = (directory: string) => join(directory, name);

export const readStoredLogin = (directory: string): StoredLogin | undefined =>
  readPrivate(storedLoginFile(directory), 'Remove it, and run "hawser login" again.') as
    | StoredLogin
    | undefined;

export const storeLogin = (directory: string, login: StoredLogin): void =>
  writePrivate(directory, name, login);

export const removeStoredLogin = (directory: string): void =>
  rmSync(storedLoginFile(directory), { force: true });
