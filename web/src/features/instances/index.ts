// What other folders may use of hosts.
export { HostPage } from "./host-page.tsx";
export { PairDialog } from "./pair-dialog.tsx";
export { HostsPage } from "./hosts-page.tsx";
