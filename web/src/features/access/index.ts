// What other folders may use of signing in.
export { ChooseOrganization } from "./choose-organization.tsx";
export { DevicePage } from "./device-page.tsx";
export { FirstPage } from "./first-page.tsx";
export { InvitePage } from "./invite-page.tsx";
export { personQuery, readPerson, signOut } from "./person.ts";
export type { Person } from "./person.ts";
export { isLoopback, PhoneDialog } from "./phone-dialog.tsx";
export { PhonePage } from "./phone-page.tsx";
export { SignInForm } from "./sign-in-form.tsx";
export { SignInPage } from "./sign-in-page.tsx";
