// One prompt box that starts a session: host, directory, agent, model and mode are chosen already, and can be changed.
import type { Instance, Session } from "@hawser/client";
import { useQuery } from "@tanstack/react-query";
import {
  lazy,
  Suspense,
  useEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
} from "react";
import { read, useRead } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Failure } from "../../design/failure.tsx";
import { plainText } from "../../design/plain.tsx";
import { isMac } from "../../keyboard/index.ts";
import { words } from "../../words/words.ts";
import { personQuery } from "../access/index.ts";
import { drafts, type Choices } from "../drafts/index.ts";
import { loadPairDialog } from "../instances/index.ts";
import {
  attachPasted,
  FileButton,
  FileChips,
  isUploading,
  ModelPicker,
  ModePicker,
  OptionsPicker,
  promptsOf,
  sends,
  useDraft,
  useDrop,
} from "../session-turns/index.ts";
import { KindPicker } from "./kind-picker.tsx";
import { NoHost } from "./no-host.tsx";
import {
  cloneOf,
  defaultKind,
  directoriesOf,
  presetDirectory,
  presetHost,
  type Source,
} from "./place.ts";
import { StartProblem } from "./start-problem.tsx";
import { useStart } from "./use-start.ts";
import { Where } from "./where.tsx";

const PairDialog = lazy(async () => ({
  default: (await loadPairDialog()).PairDialog,
}));

interface StartBoxProps {
  /** The host that a link names. */
  wantedHost?: string | undefined;
  onStarted: (sessionId: string) => void;
  /** What stands below, for the host that is chosen. */
  children?: (host: Instance) => ReactNode;
}

/** What the person has chosen; the rest is preset. */
interface Chosen {
  instanceId?: string;
  source?: Source;
  isWorktree: boolean;
  kind?: Session["agentKind"];
  mode?: Session["mode"];
  choices: Choices;
}

export function StartBox({ wantedHost, onStarted, children }: StartBoxProps): ReactNode {
  const { data: person } = useQuery(personQuery);
  const userId = person?.user.userId ?? "";
  const mayStart = useMay("sessions:edit");
  const draft = useDraft(promptsOf(userId, "new", drafts));
  const { text, write, files } = draft;
  const field = useRef<HTMLTextAreaElement>(null);
  const [chosen, setChosen] = useState<Chosen>({ isWorktree: true, choices: {} });
  const [problem, setProblem] = useState<string>();
  const [isPairing, setIsPairing] = useState(false);
  const change = (to: Partial<Chosen>) => setChosen({ ...chosen, ...to });
  const { state, begin } = useStart(userId, (sessionId) => {
    draft.clear();
    onStarted(sessionId);
  });
  useEffect(() => field.current?.focus(), []);

  const instances = useRead("search_instances", {});
  const recent = useRead("search_sessions", { limit: 20 });
  // Only the first page of hosts is listed.
  const named = chosen.instanceId ?? wantedHost;
  const listed = instances.data?.instances ?? [];
  const isElsewhere = named !== undefined && !listed.some(({ instanceId: id }) => id === named);
  const wanted = useQuery({
    ...read("get_instance", { instanceId: named ?? "" }),
    enabled: instances.data !== undefined && isElsewhere,
  });
  const all = isElsewhere && wanted.data ? [...listed, wanted.data] : listed;
  const hosts = all.filter(({ status }) => status === "online");
  const sessions = recent.data?.sessions ?? [];
  const isKnown = instances.data !== undefined && !recent.isPending && !wanted.isLoading;
  const host = isKnown ? presetHost(hosts, sessions, named) : undefined;
  const { instanceId = "" } = host ?? {};
  const ofHost = { enabled: host !== undefined };
  const detail = useQuery({ ...read("get_instance", { instanceId }), ...ofHost });
  const listing = useQuery({ ...read("list_directories", { instanceId }), ...ofHost });
  const preset = presetDirectory(directoriesOf(listing.data?.roots ?? []), sessions, instanceId);
  const source = chosen.source ?? (preset && { directory: preset });
  const kind = chosen.kind ?? (detail.data && defaultKind(detail.data));

  // Who may not read the settings sees no mode until the session has one.
  const maySee = useMay("access:view");
  const settings = useQuery({ ...read("get_settings", {}), enabled: maySee });
  const mode = chosen.mode ?? settings.data?.defaultMode;

  const attach = async (added: readonly File[]) => setProblem(await files.add(added));
  const isDropping = useDrop((dropped) => void attach(dropped));
  const canStart =
    text.trim() !== "" &&
    source !== undefined &&
    mayStart &&
    state.is !== "starting" &&
    !isUploading(files.list);
  const start = () => {
    if (!canStart) return;
    const { model, options } = chosen.choices;
    const place =
      "clone" in source ? { clone: cloneOf(source.clone) } : { directory: source.directory.path };
    const isInCheckout =
      "directory" in source && source.directory.isGitRepository && !chosen.isWorktree;
    void begin({
      start: {
        instanceId,
        ...place,
        ...(isInCheckout && { useWorktree: false }),
        ...(chosen.kind && { agentKind: chosen.kind }),
        ...model,
        ...(options && { options }),
      },
      mode: chosen.mode,
      text,
      extras: draft.extras(),
    });
  };
  const onKeyDown = ({ key, nativeEvent, metaKey, ctrlKey }: KeyboardEvent) => {
    const hasCommand = metaKey || ctrlKey;
    const { isComposing } = nativeEvent;
    const pressed = { key, keyCode: 0, isComposing, hasShift: false, isTouch: true, hasCommand };
    if (sends(pressed)) start();
  };
  const name = host ? plainText(host.name) : "";

  return (
    <>
      <div className={isDropping ? "composer dropping" : "composer"}>
        {problem !== undefined && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <Suspense>
          {files.list.length > 0 && <FileChips files={files.list} onRemove={files.remove} />}
        </Suspense>
        <textarea
          ref={field}
          rows={3}
          value={text}
          aria-label={words("start.prompt")}
          placeholder={words("start.placeholder")}
          onChange={({ target }) => write(target.value)}
          onKeyDown={onKeyDown}
          onPaste={attachPasted((pasted) => void attach(pasted))}
        />
        <div className="tools">
          {host && kind && (
            <Suspense>
              <FileButton onFiles={(added) => void attach(added)} />
              <KindPicker
                agents={host.agents}
                kind={kind}
                onChoose={(next) => change({ kind: next, choices: {} })}
              />
              <ModelPicker
                instanceId={instanceId}
                agentKind={kind}
                model={chosen.choices.model}
                onChoose={(model) => change({ choices: { ...chosen.choices, model } })}
              />
              <OptionsPicker
                instanceId={instanceId}
                agentKind={kind}
                model={chosen.choices.model}
                choices={chosen.choices}
                hasAgent={false}
                onChoose={(choices) => change({ choices })}
              />
              <ModePicker mode={mode} onChoose={(mode) => change({ mode })} />
            </Suspense>
          )}
          <button
            type="button"
            className="btn primary push"
            aria-disabled={!canStart}
            onClick={start}
          >
            {words("start.start")} <kbd className="no-phone">{isMac ? "⌘↵" : "Ctrl ↵"}</kbd>
          </button>
        </div>
      </div>
      {state.is === "starting" && (
        <p className="hint" role="status">
          {words(source && "clone" in source ? "start.cloning" : "start.starting", { host: name })}
        </p>
      )}
      {state.is === "failed" && (
        <StartProblem
          failed={state}
          instanceId={instanceId}
          host={name}
          onWorktree={chosen.isWorktree ? undefined : () => change({ isWorktree: true })}
        />
      )}
      {instances.isError && (
        <Failure
          error={instances.error}
          what={words("hosts.failed")}
          onTryAgain={() => void instances.refetch()}
        />
      )}
      {isKnown && !host && (
        <NoHost hasHosts={instances.data.instances.length > 0} onPair={() => setIsPairing(true)} />
      )}
      {/* It stays while the host comes online. */}
      {isPairing && (
        <Suspense>
          <PairDialog onClose={() => setIsPairing(false)} />
        </Suspense>
      )}
      {host && (
        <Suspense>
          <Where
            host={host}
            hosts={hosts}
            source={source}
            isWorktree={chosen.isWorktree}
            onHost={(id) => setChosen({ instanceId: id, isWorktree: true, choices: {} })}
            onSource={(next) => change({ source: next })}
            onWorktree={(isWorktree) => change({ isWorktree })}
          />
        </Suspense>
      )}
      {host && children?.(host)}
    </>
  );
}
