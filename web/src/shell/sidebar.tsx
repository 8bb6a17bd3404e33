// The sidebar: the organization, the pages, the sessions, and whether all of it is as it is now.
import { Link } from "@tanstack/react-router";
import { ChevronDown, Inbox, PanelLeft, Plus, Search, Server } from "lucide-react";
import type { ReactNode } from "react";
import { Logo } from "../design/logo.tsx";
import { Menu, MenuChoices } from "../design/menu.tsx";
import type { Person } from "../features/access/index.ts";
import { SessionList } from "../features/sessions/index.ts";
import { Keys } from "../keyboard/index.ts";
import { words } from "../words/words.ts";
import { AccountMenu } from "./account-menu.tsx";
import { HostCount, RequestCount } from "./counts.tsx";
import { FeedState } from "./feed-state.tsx";
import { NewVersion } from "./new-version.tsx";
import type { FeedNow } from "./use-feed.ts";

export interface SidebarProps {
  person: Person;
  organizationId: string;
  feed: FeedNow;
  isNarrow: boolean;
  /** Undefined if this service has no page for it. */
  onNew: (() => void) | undefined;
  onFind: () => void;
  onKeys: () => void;
  onNarrow: () => void;
  onPhone: () => void;
  onChoose: (organizationId: string) => void;
  onSignOut: () => void;
}

export function Sidebar(props: SidebarProps): ReactNode {
  const { person, organizationId, feed, isNarrow, onNew, onFind, onNarrow, onChoose } = props;
  const current = person.organizations.find((each) => each.organizationId === organizationId);
  const name = current?.name ?? words("product");
  const initials = initialsOf(current?.memberName ?? person.user.email);
  return (
    <aside className="side" aria-label={words("product")}>
      <div className="side-top">
        {person.organizations.length > 1 ? (
          <Menu
            trigger={
              <button type="button" className="org">
                <Logo size={18} /> <span className="cut wide-only">{name}</span>
                <ChevronDown className="icon s dim wide-only" aria-hidden />
              </button>
            }
          >
            <MenuChoices
              label={words("organizations")}
              value={organizationId}
              options={person.organizations.map((each) => ({
                value: each.organizationId,
                label: each.name,
              }))}
              onChoose={onChoose}
            />
          </Menu>
        ) : (
          <span className="org still">
            <Logo size={18} /> <span className="cut wide-only">{name}</span>
          </span>
        )}
        <button
          type="button"
          className="btn bare sq push"
          aria-label={words(isNarrow ? "sidebar.show" : "sidebar.hide")}
          title={`${words(isNarrow ? "sidebar.show" : "sidebar.hide")}  [`}
          onClick={onNarrow}
        >
          <PanelLeft className="icon" aria-hidden />
        </button>
        {onNew && (
          <button
            type="button"
            className="btn bare sq"
            aria-label={words("key.new_session")}
            title={`${words("key.new_session")}  C`}
            onClick={onNew}
          >
            <Plus className="icon" aria-hidden />
          </button>
        )}
      </div>
      <button type="button" className="find" onClick={onFind}>
        <Search className="icon s" aria-hidden />
        <span className="wide-only">{words("key.palette")}</span>
        <span className="push wide-only" aria-hidden>
          <Keys of="palette" />
        </span>
      </button>
      <nav className="nav" aria-label={words("nav.pages")}>
        <Link to="/inbox">
          <Inbox className="icon" aria-hidden />
          <span className="wide-only">{words("nav.inbox")}</span> <RequestCount />
        </Link>
        <Link to="/hosts">
          <Server className="icon" aria-hidden />
          <span className="wide-only">{words("nav.hosts")}</span> <HostCount />
        </Link>
      </nav>
      {!isNarrow && <SessionList />}
      <NewVersion connections={feed.connections} />
      <footer className={isNarrow ? "side-foot push-down" : "side-foot"}>
        <FeedState feed={feed.status} />
        <AccountMenu
          person={person}
          onPhone={props.onPhone}
          onKeys={props.onKeys}
          onSignOut={props.onSignOut}
          trigger={
            <button type="button" className="btn bare sq push">
              <span className="avatar" aria-hidden>
                {initials}
              </span>
              <span className="sr">{words("account", { email: person.user.email })}</span>
            </button>
          }
        />
      </footer>
    </aside>
  );
}

/** "MO" for Mira Okafor, and for an address its first letter. */
const initialsOf = (name: string) =>
  name
    .split(" ")
    .map(([first = ""]) => first.toUpperCase())
    .slice(0, 2)
    .join("");
