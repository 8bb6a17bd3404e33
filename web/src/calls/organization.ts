// The organization for which this tab calls. A person can belong to several, and no sign-in has one of its own.
const storedAs = "hawser.organization";
let current: string | undefined;

export const organization = {
  /** Undefined until `use`. */
  get id(): string | undefined {
    return current;
  },

  /** Throws before `use`. */
  header(): Record<string, string> {
    if (current === undefined) throw new Error("No organization has been chosen.");
    return { "x-hawser-organization": current };
  },

  /** From now on calls are for this one. New tabs begin with it too. */
  use(organizationId: string): void {
    current = organizationId;
    sessionStorage.setItem(storedAs, organizationId);
    localStorage.setItem(storedAs, organizationId);
  },

  /** The one that this tab, or else this browser, used most recently. */
  recent(): string | undefined {
    return sessionStorage.getItem(storedAs) ?? localStorage.getItem(storedAs) ?? undefined;
  },

  forget(): void {
    current = undefined;
    sessionStorage.removeItem(storedAs);
    localStorage.removeItem(storedAs);
  },
};
