// What can be done with a host: start a session there, inspect it again, rename it, pair it again, remove it.
import type { InstanceDetail } from "@hawser/client";
import { Ellipsis } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Menu, MenuItem } from "../../design/menu.tsx";
import { words } from "../../words/words.ts";
import { PairDialog } from "./pair-dialog.tsx";
import { RemoveDialog } from "./remove-dialog.tsx";
import { RenameDialog } from "./rename-dialog.tsx";
import { StartHere } from "./start-here.tsx";
import { restOf } from "./status.ts";

export function HostActions({
  host,
  onGone,
}: {
  host: InstanceDetail;
  onGone: () => void;
}): ReactNode {
  const { instanceId, name } = host;
  const [asked, setAsked] = useState<"rename" | "pair" | "remove">();
  const mayEdit = useMay("instances:edit");
  const mayRemove = useMay("instances:delete");
  const mayStart = useMay("sessions:edit");
  const refresh = useChange("refresh_instance", ["get_instance", "search_instances"]);
  const close = () => setAsked(undefined);
  const rest = restOf(host);
  if (!mayEdit && !mayRemove && !mayStart) return null;
  return (
    <>
      {mayStart && host.status !== "pairing" && (
        <StartHere instanceId={instanceId} rest={rest} isShort />
      )}
      {refresh.isError && (
        <span className="red small" role="alert">
          {refresh.error.message}
        </span>
      )}
      {(mayEdit || mayRemove) && (
        <Menu
          trigger={
            <button type="button" className="btn bare sq" aria-label={words("host.actions")}>
              <Ellipsis className="icon" aria-hidden />
            </button>
          }
        >
          {mayEdit && (
            <>
              <MenuItem
                disabled={rest !== undefined || refresh.isPending}
                title={rest}
                onSelect={() => refresh.mutate({ instanceId })}
              >
                {words("host.refresh")}
              </MenuItem>
              <MenuItem onSelect={() => setAsked("rename")}>{words("rename")}</MenuItem>
              <MenuItem onSelect={() => setAsked("pair")}>{words("host.pair_again")}</MenuItem>
            </>
          )}
          {mayRemove && (
            <MenuItem className="red" onSelect={() => setAsked("remove")}>
              {words("host.remove")}
            </MenuItem>
          )}
        </Menu>
      )}
      {asked === "rename" && <RenameDialog host={host} onClose={close} />}
      {asked === "pair" && <PairDialog pairing={{ instanceId, name }} onClose={close} />}
      {asked === "remove" && <RemoveDialog host={host} onClose={close} onGone={onGone} />}
    </>
  );
}
