// The environment of every Node process that a test starts: PATH, and the cache of compiled code, so that
// the hundreds of processes of a run do not compile the product again.
const names = ["PATH", "NODE_COMPILE_CACHE"];

export function nodeEnvironment(): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
