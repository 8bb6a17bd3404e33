// What other folders may use of hosts. Routes load the pages.
export const loadHostPage = () => import("./host-page.tsx");
export const loadHostsPage = () => import("./hosts-page.tsx");
export const loadPairDialog = () => import("./pair-dialog.tsx");
