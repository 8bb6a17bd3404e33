// Routes whose component passes values to a page that is loaded with the route.

interface Loaded {
  preload?: (() => Promise<void> | undefined) | undefined;
}

/** The component, for which the router loads the page as soon as it knows the address, also that of a pointed link. */
export function withPage<Component extends () => unknown>(
  page: Loaded,
  component: Component,
): Component & { preload: () => Promise<void> } {
  return Object.assign(component, { preload: async () => page.preload?.() });
}
