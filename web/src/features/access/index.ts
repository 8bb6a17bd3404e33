// What other folders may use of signing in. Its pages are loaded when they are shown.
import { part } from "../../design/part.tsx";

export { askWhoIsSignedIn, forgetPerson, personQuery, readPerson, signOut } from "./person.ts";
export type { Person } from "./person.ts";
export { isLoopback } from "./loopback.ts";

export const loadSignInForm = () => import("./sign-in-form.tsx");
export const SignInForm = part(async () => (await loadSignInForm()).SignInForm);
export const ChooseOrganization = part(
  async () => (await import("./choose-organization.tsx")).ChooseOrganization,
);
export const DevicePage = part(async () => (await import("./device-page.tsx")).DevicePage);
export const FirstPage = part(async () => (await import("./first-page.tsx")).FirstPage);
export const InvitePage = part(async () => (await import("./invite-page.tsx")).InvitePage);
export const PhoneDialog = part(async () => (await import("./phone-dialog.tsx")).PhoneDialog);
export const PhonePage = part(async () => (await import("./phone-page.tsx")).PhonePage);
export const RenewWithProvider = part(
  async () => (await import("./renew-with-provider.tsx")).RenewWithProvider,
);
export const SignedInPage = part(async () => (await import("./signed-in-page.tsx")).SignedInPage);
export const SignInPage = part(async () => (await import("./sign-in-page.tsx")).SignInPage);
