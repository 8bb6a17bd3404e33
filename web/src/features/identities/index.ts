// What other folders may use of agent accounts.
export { AccountsSection } from "./accounts-section.tsx";
export { useAccounts } from "./use-accounts.ts";
