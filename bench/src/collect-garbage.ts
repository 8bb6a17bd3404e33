// Loaded into a node before its own code. Lets the bench collect garbage in the node, so that only memory
// in use is counted.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (how: object) => void;
// Only this kind of collection also returns the emptied pages to the system.
process.on("SIGUSR2", () => collect({ type: "major", execution: "sync", flavor: "last-resort" }));
