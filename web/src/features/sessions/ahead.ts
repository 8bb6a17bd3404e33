// What a person may need next on the page of a session, in the order in which it is loaded once the page is shown.
import type { Load } from "../../design/part.tsx";
import { loadRequestCard } from "../requests/index.ts";
import { loadClosing } from "../session-log/index.ts";
import { turnParts } from "../session-turns/index.ts";

export const loadDialogs = () => import("./session-dialogs.tsx");
export const loadFindBar = () => import("./find-bar.tsx");

export const sessionParts: readonly Load[] = [
  loadRequestCard,
  loadClosing,
  () => import("../session-files/index.ts"),
  () => import("./details-tab.tsx"),
  () => import("./terminal-tab.tsx"),
  ...turnParts,
  loadDialogs,
  loadFindBar,
];
