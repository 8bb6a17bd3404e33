// Loaded into a node before its own code: lets the bench have garbage collected there, so that memory
// is counted that is in use, and not what happens to lie around.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (how: object) => void;
// The last resort is the one that also gives the emptied pages back.
process.on("SIGUSR2", () => collect({ type: "major", execution: "sync", flavor: "last-resort" }));
