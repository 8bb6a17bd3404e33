// Counts which requirements the acceptance run has proven, from the proofs that its tests recorded.

/** Proof of one acceptance test: the requirements it cites, and its result. */
export interface Proof {
  test: string;
  ids: string[];
  /** Number of requests that the test sent to the product; a test without requests proves nothing. */
  requests: number;
  passed: boolean;
}

interface Requirement {
  id: string;
  /** Place in the interface's document, such as "4.5,R30"; the first number is the section. */
  source: string;
}

interface SectionCount {
  section: string;
  proven: number;
  total: number;
}

export interface Coverage {
  sections: SectionCount[];
  proven: number;
  total: number;
  /** The requirements that no test has proven. */
  missing: string[];
  /** Citations of ids that are not requirements, with the tests that cite them. */
  unknown: { id: string; tests: string[] }[];
}

/** A requirement is proven if a passed test that sent requests cites it, and no failed test does. */
export function countCoverage(requirements: readonly Requirement[], proofs: Proof[]): Coverage {
  const proven = new Set<string>();
  for (const proof of proofs) {
    if (proof.passed && proof.requests > 0) proof.ids.forEach((id) => proven.add(id));
  }
  for (const proof of proofs) {
    if (!proof.passed) proof.ids.forEach((id) => proven.delete(id));
  }

  const known = new Set<string>();
  const sections = new Map<string, SectionCount>();
  const missing: string[] = [];
  for (const { id, source } of requirements) {
    known.add(id);
    const section = source.split(",", 1)[0]!;
    const count = sections.get(section) ?? { section, proven: 0, total: 0 };
    sections.set(section, count);
    count.total++;
    if (proven.has(id)) count.proven++;
    else missing.push(id);
  }

  const unknown = new Map<string, Set<string>>();
  for (const proof of proofs) {
    for (const id of proof.ids) {
      if (known.has(id)) continue;
      unknown.set(id, (unknown.get(id) ?? new Set()).add(proof.test));
    }
  }

  const counts = [...sections.values()];
  return {
    sections: counts.sort((a, b) => byNumber(a.section, b.section)),
    proven: counts.reduce((all, { proven }) => all + proven, 0),
    total: known.size,
    missing,
    unknown: [...unknown].map(([id, tests]) => ({ id, tests: [...tests] })),
  };
}

/** Why a requirement is proven by no test, by its id. */
export type Reasons = Readonly<Partial<Record<string, string>>>;

/** The table shown under the run: one line per section, what is not proven and why, then the total. */
export function coverageTable({ sections, missing, proven, total }: Coverage, reasons: Reasons) {
  const rows = sections.map(
    (count) =>
      `${count.section.padEnd(7)}  ${String(count.proven).padStart(6)}  ${String(count.total).padStart(5)}`,
  );
  const unproven = missing.map((id) => `not proven: ${id}: ${reasons[id] ?? "no reason is known"}`);
  return [
    "section  proven  total",
    ...rows,
    ...unproven,
    `${proven} of ${total} requirements proven`,
  ].join("\n");
}

/** Complaints about a whole run: what it proves and what the reasons say must be the same. */
export function wrongReasons({ missing }: Coverage, reasons: Reasons): string[] {
  return [
    ...missing
      .filter((id) => reasons[id] === undefined)
      .map((id) => `${id} is not proven, and acceptance/unproven.ts has no reason for it.`),
    ...Object.keys(reasons)
      .filter((id) => !missing.includes(id))
      .map((id) => `${id} is proven. Remove its reason from acceptance/unproven.ts.`),
  ];
}

// Sections in the document's order: 2 before 4.2, 4.2 before 4.10.
const order = new Intl.Collator("en", { numeric: true });
const byNumber = (a: string, b: string) => order.compare(a, b);
