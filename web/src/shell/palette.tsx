// The palette: what can be done here, and every session, host and page, by a part of its name.
import "../design/palette.css";
import { Command } from "cmdk";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { CornerDownLeft, Search, Server } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { read, useRead } from "../calls/use-call.ts";
import { Dialog } from "../design/dialog.tsx";
import { Mark } from "../design/mark.tsx";
import { Plain } from "../design/plain.tsx";
import { markOf, titleOf } from "../features/sessions/index.ts";
import { acts, keyboard, Keys, useActs, type ActId } from "../keyboard/index.ts";
import { words } from "../words/words.ts";

const mostFound = 8;
const pauseMs = 150;

export function Palette({ onClose }: { onClose: () => void }): ReactNode {
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const sought = usePaused(text.trim());
  const possible = useActs().filter((id) => acts[id].inPalette && has(words(`key.${id}`), text));
  const { sessions, instances, error } = useFound(sought, text.trim());
  // The dialog gives the focus back first, so that an act can move it.
  const choose = (run: () => void) => {
    onClose();
    requestAnimationFrame(run);
  };
  const act = (id: ActId) => (
    <Command.Item key={id} value={`act ${id}`} onSelect={() => choose(() => keyboard.run(id))}>
      <CornerDownLeft className="icon" aria-hidden />
      <Found label={words(`key.${id}`)} text={text} />
      <span className="push" aria-hidden>
        <Keys of={id} />
      </span>
    </Command.Item>
  );
  const here = possible.filter((id) => acts[id].area === "session");
  const everywhere = possible.filter((id) => acts[id].area !== "session");
  return (
    <Dialog title={words("key.palette")} onClose={onClose} isBare>
      <Command label={words("palette.title")} shouldFilter={false} loop className="palette">
        <div className="ask-in">
          <Search className="icon" aria-hidden />
          <Command.Input
            value={text}
            onValueChange={setText}
            placeholder={words("palette.title")}
          />
          <kbd className="key">Esc</kbd>
        </div>
        <Command.List label={words("palette.title")}>
          {here.length > 0 && (
            <Command.Group heading={words("palette.session")}>{here.map(act)}</Command.Group>
          )}
          {sessions.length > 0 && (
            <Command.Group heading={words("palette.sessions")}>
              {sessions.map((session) => (
                <Command.Item
                  key={session.sessionId}
                  value={session.sessionId}
                  onSelect={() =>
                    choose(
                      () =>
                        void navigate({
                          to: "/sessions/$sessionId",
                          params: { sessionId: session.sessionId },
                        }),
                    )
                  }
                >
                  <Mark {...markOf(session)} />
                  <Found label={titleOf(session)} text={text} />
                  <span className="push dim cut">
                    <Plain
                      text={
                        instances.find(({ instanceId }) => instanceId === session.instanceId)
                          ?.name ?? session.agentKind
                      }
                    />
                  </span>
                </Command.Item>
              ))}
            </Command.Group>
          )}
          <Hosts
            hosts={instances.filter(({ name }) => has(name, text)).slice(0, mostFound)}
            text={text}
            onChoose={(instanceId) =>
              choose(() => void navigate({ to: "/hosts/$instanceId", params: { instanceId } }))
            }
          />
          {everywhere.length > 0 && (
            <Command.Group heading={words("palette.everywhere")}>
              {everywhere.map(act)}
            </Command.Group>
          )}
        </Command.List>
        {/* Beside the list, in which readers expect nothing but options. */}
        <Command.Empty>{words("palette.none")}</Command.Empty>
        {error && (
          <p className="dim" role="status">
            {words("palette.failed")}
          </p>
        )}
      </Command>
    </Dialog>
  );
}

function Hosts({
  hosts,
  text,
  onChoose,
}: {
  hosts: readonly { instanceId: string; name: string; status: string }[];
  text: string;
  onChoose: (instanceId: string) => void;
}): ReactNode {
  if (hosts.length === 0) return null;
  return (
    <Command.Group heading={words("palette.hosts")}>
      {hosts.map(({ instanceId, name, status }) => (
        <Command.Item key={instanceId} value={instanceId} onSelect={() => onChoose(instanceId)}>
          <Server className="icon" aria-hidden />
          <Found label={name} text={text} />
          <span className="push dim">
            {words(status === "online" ? "host.online" : "host.offline")}
          </span>
        </Command.Item>
      ))}
    </Command.Group>
  );
}

/** Sessions and hosts: the newest of all, or those that contain the text. `typed` may be newer than the text. */
function useFound(text: string, typed: string) {
  const query = text === "" ? {} : { query: text };
  const found = useQuery({
    ...read("search_sessions", { ...query, limit: mostFound }),
    placeholderData: keepPreviousData,
  });
  const all = useRead("search_instances", {});
  const hosts = useQuery({
    ...read("search_instances", { ...query, limit: mostFound }),
    placeholderData: keepPreviousData,
    enabled: text !== "",
  });
  // More hosts than one page has are found by their name only.
  const instances = new Map(
    [...(all.data?.instances ?? []), ...(hosts.data?.instances ?? [])].map((each) => [
      each.instanceId,
      each,
    ]),
  );
  const isOlder = found.isPlaceholderData || typed !== text;
  return {
    // The answer to an older text is none to what is typed now.
    sessions: (found.data?.sessions ?? []).filter((each) => !isOlder || has(titleOf(each), typed)),
    instances: [...instances.values()],
    error: found.error ?? all.error ?? hosts.error,
  };
}

/** The label with what was looked for. */
function Found({ label, text }: { label: string; text: string }): ReactNode {
  const sought = text.trim().toLowerCase();
  const at = sought === "" ? -1 : label.toLowerCase().indexOf(sought);
  if (at === -1) {
    return (
      <span className="cut">
        <Plain text={label} />
      </span>
    );
  }
  const end = at + sought.length;
  return (
    <span className="cut">
      <Plain text={label.slice(0, at)} />
      <b>
        <Plain text={label.slice(at, end)} />
      </b>
      <Plain text={label.slice(end)} />
    </span>
  );
}

const has = (label: string, text: string) =>
  label.toLowerCase().includes(text.trim().toLowerCase());

/** The text once nobody has typed for a moment. */
function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}
