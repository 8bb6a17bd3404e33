// Markdown table of what each agent kind can do: a row per behaviour, a column per kind.

export interface Behaviour {
  kind: string;
  name: string;
  /** true if it passed, false if it failed, else why it does not apply to the kind. */
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
