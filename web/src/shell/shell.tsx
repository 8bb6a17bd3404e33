// The frame around every page of a signed-in person: sidebar, or a bottom bar on a phone; and what keys open everywhere.
import { Link, useMatchRoute, useRouter } from "@tanstack/react-router";
import { Ellipsis, Inbox, MessagesSquare, Server } from "lucide-react";
import { Suspense, useEffect, useState, type ReactNode } from "react";
import { useMay } from "../calls/use-may.ts";
import { loadMenus } from "../design/menu.tsx";
import { part, useLoadAhead } from "../design/part.tsx";
import { PhoneDialog, type Person } from "../features/access/index.ts";
import { loadSessionPage } from "../features/sessions/index.ts";
import { listenToKeys, useAct } from "../keyboard/index.ts";
import { words } from "../words/words.ts";
import { AccountMenu } from "./account-menu.tsx";
import { RequestCount } from "./counts.tsx";
import { FeedStrip } from "./feed-state.tsx";
import { Sidebar, type SidebarProps } from "./sidebar.tsx";
import { useNarrowSidebar } from "./sidebar-state.ts";
import { SignInGate } from "./sign-in-gate.tsx";
import { useFeed } from "./use-feed.ts";

const loadPalette = () => import("./palette.tsx");
const loadKeyMap = () => import("./key-map.tsx");
const Palette = part(async () => (await loadPalette()).Palette);
const KeyMap = part(async () => (await loadKeyMap()).KeyMap);
/** What a person may open next from any page. */
const nextParts = [loadSessionPage, loadMenus, loadPalette, loadKeyMap];

interface ShellProps {
  person: Person;
  organizationId: string;
  onChoose: (organizationId: string) => void;
  onSignOut: () => void;
  children: ReactNode;
}

export function Shell({ children, ...props }: ShellProps): ReactNode {
  const { person, organizationId } = props;
  const [opened, setOpened] = useState<"palette" | "keys" | "phone">();
  const [isNarrow, toggleNarrow] = useNarrowSidebar();
  const feed = useFeed({ organizationId, signInId: person.signInId });
  const newSession = useNewSession();
  usePageKeys();
  useLoadAhead(nextParts);
  useEffect(listenToKeys, []);
  useAct("palette", () => setOpened("palette"));
  useAct("keys", () => setOpened("keys"));
  useAct("sidebar", toggleNarrow);
  // A session has a stream of its own, and a strip for it.
  const isSession = useMatchRoute()({ to: "/sessions/$sessionId" }) !== false;
  const bar = {
    ...props,
    feed,
    isNarrow,
    onNew: newSession,
    onFind: () => setOpened("palette"),
    onKeys: () => setOpened("keys"),
    onPhone: () => setOpened("phone"),
    onNarrow: toggleNarrow,
  };
  const close = () => setOpened(undefined);
  return (
    <>
      <a className="skip btn" href="#main">
        {words("skip")}
      </a>
      <div className={isNarrow ? "app narrow" : "app"}>
        <Sidebar {...bar} />
        <main className="main" id="main" tabIndex={-1}>
          {!isSession && <FeedStrip feed={feed.status} />}
          {children}
        </main>
        <BottomBar {...bar} />
      </div>
      <Suspense>
        {opened === "palette" && <Palette onClose={close} />}
        {opened === "keys" && <KeyMap onClose={close} />}
        {opened === "phone" && <PhoneDialog onClose={close} />}
      </Suspense>
      <SignInGate person={person} />
    </>
  );
}

/** Undefined for a person who may not start sessions. */
function useNewSession(): (() => void) | undefined {
  const { navigate } = useRouter();
  const mayStart = useMay("sessions:edit");
  const start = () => void navigate({ to: "/new" });
  useAct("new_session", start, mayStart);
  return mayStart ? start : undefined;
}

function usePageKeys(): void {
  const { navigate } = useRouter();
  useAct("go_inbox", () => void navigate({ to: "/inbox" }));
  useAct("go_sessions", () => void navigate({ to: "/sessions" }));
  useAct("go_hosts", () => void navigate({ to: "/hosts" }));
}

function BottomBar({ person, onPhone, onKeys, onSignOut }: SidebarProps): ReactNode {
  return (
    <nav className="bottom" aria-label={words("nav.pages")}>
      <Link to="/inbox">
        <Inbox className="icon" aria-hidden />
        {words("nav.inbox")}
        <RequestCount />
      </Link>
      <Link to="/sessions">
        <MessagesSquare className="icon" aria-hidden />
        {words("nav.sessions")}
      </Link>
      <Link to="/hosts">
        <Server className="icon" aria-hidden />
        {words("nav.hosts")}
      </Link>
      <AccountMenu
        person={person}
        onPhone={onPhone}
        onKeys={onKeys}
        onSignOut={onSignOut}
        trigger={
          <button type="button">
            <Ellipsis className="icon" aria-hidden />
            {words("nav.more")}
          </button>
        }
      />
    </nav>
  );
}
