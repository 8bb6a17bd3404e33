// The requests with which a person lets a program have a key, or refuses it.
import { requestSignedIn } from "../../calls/request-signed-in.ts";

/** A program that waits. */
export interface WaitingProgram {
  /** What it says about itself, which proves nothing. */
  name: string;
  createdAt: string;
  expiresAt: string;
}

export const deviceLogin = {
  read: (code: string) => requestSignedIn<WaitingProgram>("/api/sign-in/device/read", { code }),

  approve: (code: string, organizationId: string) =>
    requestSignedIn<WaitingProgram>("/api/sign-in/device/approve", { code, organizationId }),

  refuse: (code: string) => requestSignedIn<WaitingProgram>("/api/sign-in/device/refuse", { code }),
};
