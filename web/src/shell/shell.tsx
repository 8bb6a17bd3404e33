// The frame around every page of a signed-in person: sidebar, or a bottom bar on a phone.
import { Link } from "@tanstack/react-router";
import { ChevronDown, Ellipsis, Inbox, MessagesSquare, Plus, Server } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useRead } from "../calls/use-call.ts";
import { Logo } from "../design/logo.tsx";
import { Menu, MenuChoices } from "../design/menu.tsx";
import { useWaitingInTitle } from "../design/page-title.ts";
import { PhoneDialog, type Person } from "../features/access/index.ts";
import { words } from "../words/words.ts";
import { useMay } from "../calls/use-may.ts";
import { useNewKey } from "./use-new-key.ts";
import { AccountMenu } from "./account-menu.tsx";
import { FeedState } from "./feed-state.tsx";
import { SignInGate } from "./sign-in-gate.tsx";

interface ShellProps {
  person: Person;
  organizationId: string;
  onChoose: (organizationId: string) => void;
  onSignOut: () => void;
  children: ReactNode;
}

interface BarProps extends ShellProps {
  onPhone: () => void;
}

export function Shell(props: ShellProps): ReactNode {
  const [isAddingPhone, setIsAddingPhone] = useState(false);
  const bar = { ...props, onPhone: () => setIsAddingPhone(true) };
  return (
    <>
      <a className="skip btn" href="#main">
        {words("skip")}
      </a>
      <div className="app">
        <Sidebar {...bar} />
        <main className="main" id="main" tabIndex={-1}>
          {props.children}
        </main>
        <BottomBar {...bar} />
      </div>
      {isAddingPhone && <PhoneDialog onClose={() => setIsAddingPhone(false)} />}
      <SignInGate person={props.person} />
    </>
  );
}

function Sidebar({ person, organizationId, onChoose, onPhone, onSignOut }: BarProps): ReactNode {
  const mayStart = useMay("sessions:edit");
  useNewKey(mayStart);
  const current = person.organizations.find((each) => each.organizationId === organizationId);
  const name = current?.name ?? words("product");
  const initials = (current?.memberName ?? person.user.email).slice(0, 2).toUpperCase();
  return (
    <aside className="side" aria-label={words("product")}>
      <div className="side-top">
        {person.organizations.length > 1 ? (
          <Menu
            trigger={
              <button type="button" className="org">
                <Logo size={18} /> <span className="cut">{name}</span>
                <ChevronDown className="icon s dim" aria-hidden />
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
            <Logo size={18} /> <span className="cut">{name}</span>
          </span>
        )}
        {mayStart && (
          <Link to="/new" className="btn bare sq push" aria-label={words("start.new.key")}>
            <Plus className="icon" aria-hidden />
          </Link>
        )}
      </div>
      <nav className="nav" aria-label={words("nav.pages")}>
        <Link to="/inbox">
          <Inbox className="icon" aria-hidden /> {words("nav.inbox")} <RequestCount />
        </Link>
        <Link to="/sessions">
          <MessagesSquare className="icon" aria-hidden /> {words("nav.sessions")}
        </Link>
        <Link to="/hosts">
          <Server className="icon" aria-hidden /> {words("nav.hosts")} <HostCount />
        </Link>
      </nav>
      <footer className="side-foot push-down">
        <FeedState organizationId={organizationId} signInId={person.signInId} />
        <AccountMenu
          person={person}
          onPhone={onPhone}
          onSignOut={onSignOut}
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

function BottomBar({ person, onPhone, onSignOut }: BarProps): ReactNode {
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

/** How many requests wait for an answer: the only amber number, also in the tab's title. */
function RequestCount(): ReactNode {
  const { data } = useRead("search_requests", { scope: "pending", limit: 200 });
  const count = data?.requests.filter(({ answerable }) => answerable).length ?? 0;
  useWaitingInTitle(count);
  if (count === 0) return null;
  return (
    <b className="count ask">
      {count}
      <span className="sr"> {words("nav.inbox.wait")}</span>
    </b>
  );
}

/** How many hosts are online, of how many. Absent until it is known, and if there are more than one page. */
function HostCount(): ReactNode {
  const { data } = useRead("search_instances", {});
  if (!data || data.nextCursor !== null || data.instances.length === 0) return null;
  const online = data.instances.filter(({ status }) => status === "online").length;
  return (
    <span className="count">
      {words("nav.hosts.count", { online, all: data.instances.length })}
    </span>
  );
}
