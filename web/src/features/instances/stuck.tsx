// What to look at if no machine uses the command, in order of likelihood.
import type { ReactNode } from "react";
import { Step, Steps } from "../../design/steps.tsx";
import { words } from "../../words/words.ts";

export function Stuck(): ReactNode {
  return (
    <>
      <p className="mid">{words("stuck.about")}</p>
      <Steps>
        <Step number={1} title={words("stuck.command")}>
          {words("stuck.command.what")}
        </Step>
        <Step number={2} title={words("stuck.reach", { host: location.host })}>
          {words("stuck.reach.what")}{" "}
          <span className="rule">curl -I {location.origin}/healthz</span>
        </Step>
        <Step number={3} title={words("stuck.old")}>
          {words("stuck.old.what")}
        </Step>
      </Steps>
    </>
  );
}
