// What each agent kind was seen to do, as a table in Markdown: behaviours down, kinds across.

export interface Behaviour {
  kind: string;
  name: string;
  /** True: seen. False: it failed. Otherwise why it does not apply to the kind. */
  outcome: boolean | string;
}

export function tableOf(kinds: readonly string[], behaviours: readonly Behaviour[]): string {
  const names = [...new Set(behaviours.map(({ name }) => name))];
  const reasons = [
    ...new Set(behaviours.flatMap(({ outcome }) => (typeof outcome === "string" ? [outcome] : []))),
  ];
  const cell = (name: string, kind: string) => {
    const found = behaviours.find((each) => each.name === name && each.kind === kind);
    if (!found) return "not run";
    const { outcome } = found;
    if (typeof outcome === "string") return `no (${reasons.indexOf(outcome) + 1})`;
    return outcome ? "yes" : "FAILED";
  };
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const escaped = (name: string) => name.replaceAll("|", "\\|");
  return [
    row(["Behaviour", ...kinds]),
    row(["---", ...kinds.map(() => "---")]),
    ...names.map((name) => row([escaped(name), ...kinds.map((kind) => cell(name, kind))])),
    "",
    ...reasons.map((reason, place) => `(${place + 1}) ${reason}`),
  ].join("\n");
}
