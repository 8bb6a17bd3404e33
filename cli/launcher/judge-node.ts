/**
 * Whether hawser runs in a Node of this version. `prefers another`: it works, and is not what was tested, so
 * the tested Node is used if the machine has it.
 */
export function judgeNode(
  version: string,
): "fits" | "prefers another" | "needs another" | "too old" {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < 18 || (major === 18 && minor < 18)) return "too old";
  if (major < 24 || (major === 24 && minor < 12)) return "needs another";
  return major < 26 ? "fits" : "prefers another";
}
