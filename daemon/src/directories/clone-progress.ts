// Reads the progress of a clone from git's output. The server's lines begin with "remote:" and are ignored,
// so that no server can write into an operation.

const phases = [
  { name: "Receiving objects", from: 0, to: 80 },
  { name: "Resolving deltas", from: 80, to: 95 },
  { name: "Updating files", from: 95, to: 100 },
] as const;

/** Parses git's output piece by piece; reports the step and the percentage whenever they change. */
export function followProgress(
  step: (step: string, percent: number) => void,
): (text: string) => void {
  let line = "";
  let reported = "";
  return (text) => {
    const lines = (line + text).split(/[\r\n]/);
    line = lines.pop()!.slice(-1_024);
    for (const each of lines) {
      const [, name, percent] = /^([A-Z][a-z]+ [a-z]+): +(\d{1,3})%/.exec(each) ?? [];
      const phase = phases.find((known) => known.name === name);
      if (!phase) continue;
      const whole = phase.from + ((phase.to - phase.from) * Math.min(100, Number(percent))) / 100;
      const news = `${phase.name} ${Math.floor(whole)}`;
      if (news === reported) continue;
      reported = news;
      step(phase.name.toLowerCase(), Math.floor(whole));
    }
  };
}
