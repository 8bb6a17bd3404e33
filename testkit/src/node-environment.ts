// What every Node process of a test is started with: where programs are found, and where compiled code is
// kept, so that each of some hundred processes of a run does not compile the product anew.
const names = ["PATH", "NODE_COMPILE_CACHE"];

export function nodeEnvironment(): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
