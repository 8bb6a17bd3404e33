// Where the new session works: the host, a repository of it, and whether in a worktree of its own.
import type { Instance } from "@hawser/client";
import { useState, type ReactNode } from "react";
import { useRead } from "../../calls/use-call.ts";
import { MenuChoices, MenuItem } from "../../design/menu.tsx";
import { Plain, plainText } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";
import { Picker } from "../session-turns/index.ts";
import { CloneDialog } from "./clone-dialog.tsx";
import { DirectoryDialog } from "./directory-dialog.tsx";
import { directoriesOf, shortPath, type Directory, type Source } from "./place.ts";

/** More repositories are in a menu. */
const mostChips = 3;

interface WhereProps {
  host: Instance;
  hosts: readonly Instance[];
  source: Source | undefined;
  isWorktree: boolean;
  onHost: (instanceId: string) => void;
  onSource: (source: Source) => void;
  onWorktree: (isWorktree: boolean) => void;
}

export function Where({
  host,
  hosts,
  source,
  isWorktree,
  onHost,
  onSource,
  onWorktree,
}: WhereProps): ReactNode {
  const [dialog, setDialog] = useState<"directory" | "clone">();
  const { instanceId } = host;
  const listing = useRead("list_directories", { instanceId });
  const listed = directoriesOf(listing.data?.roots ?? []);
  const chosen = source && "directory" in source ? source.directory : undefined;
  const first = listed.slice(0, mostChips);
  // What was chosen elsewhere stands in front.
  const shown =
    chosen && !first.some(({ path }) => path === chosen.path)
      ? [chosen, ...first.slice(0, mostChips - 1)]
      : first;
  const rest = listed.filter(({ path }) => !shown.some((each) => each.path === path));
  const close = () => setDialog(undefined);
  const choose = (next: Source) => {
    onSource(next);
    close();
  };
  return (
    <section aria-label={words("start.where")}>
      <h2 className="where">
        {words("start.in")}
        {hosts.length > 1 ? (
          <Picker
            label={words("start.host", { host: plainText(host.name) })}
            text={<Plain text={host.name} />}
          >
            <MenuChoices
              label={words("nav.hosts")}
              value={instanceId}
              options={hosts.map((each) => ({
                value: each.instanceId,
                label: plainText(each.name),
              }))}
              onChoose={onHost}
            />
          </Picker>
        ) : (
          <Plain text={host.name} />
        )}
      </h2>
      {listing.isError && <p className="small red">{listing.error.message}</p>}
      <div className="chips">
        <div className="chips" role="radiogroup" aria-label={words("start.where")}>
          {source && "clone" in source && (
            <button type="button" className="chip" role="radio" aria-checked>
              {words("start.clone_of", { name: plainText(source.clone) })}
            </button>
          )}
          {shown.map((directory) => (
            <Chip
              key={directory.path}
              directory={directory}
              isChosen={directory.path === chosen?.path}
              onChoose={() => choose({ directory })}
            />
          ))}
        </div>
        <Picker label={words("start.other")} text={words("start.other")}>
          {rest.length > 0 && (
            <MenuChoices
              label={words("start.more", { n: rest.length })}
              value={undefined}
              options={rest.map(({ path }) => ({ value: path, label: plainText(shortPath(path)) }))}
              onChoose={(path) => choose({ directory: rest.find((each) => each.path === path)! })}
            />
          )}
          <MenuItem onSelect={() => setDialog("directory")}>{words("start.browse")}</MenuItem>
          <MenuItem onSelect={() => setDialog("clone")}>{words("start.clone")}</MenuItem>
        </Picker>
      </div>
      <p className="hint">
        {source && <Hint source={source} isWorktree={isWorktree} onWorktree={onWorktree} />}
      </p>
      {dialog === "directory" && (
        <DirectoryDialog
          instanceId={instanceId}
          roots={listing.data?.roots ?? []}
          onChoose={(directory) => choose({ directory })}
          onClose={close}
        />
      )}
      {dialog === "clone" && (
        <CloneDialog
          instanceId={instanceId}
          onChoose={(clone) => choose({ clone })}
          onClose={close}
        />
      )}
    </section>
  );
}

function Chip({
  directory: { path, branch },
  isChosen,
  onChoose,
}: {
  directory: Directory;
  isChosen: boolean;
  onChoose: () => void;
}): ReactNode {
  return (
    <button
      type="button"
      className="chip"
      role="radio"
      aria-checked={isChosen}
      title={path}
      onClick={onChoose}
    >
      <span className="cut">
        <Plain text={shortPath(path)} />
      </span>
      {branch !== null && (
        <span className="dim cut">
          <Plain text={branch} />
        </span>
      )}
    </button>
  );
}

function Hint({
  source,
  isWorktree,
  onWorktree,
}: {
  source: Source;
  isWorktree: boolean;
  onWorktree: (isWorktree: boolean) => void;
}): ReactNode {
  if ("clone" in source) return words("start.in_clone");
  if (!source.directory.isGitRepository) return words("start.in_plain");
  return (
    <>
      {words(isWorktree ? "start.in_worktree" : "start.in_checkout")}{" "}
      <button type="button" className="link" onClick={() => onWorktree(!isWorktree)}>
        {words(isWorktree ? "start.use_checkout" : "start.use_worktree")}
      </button>
    </>
  );
}
