// JSON as text that JavaScript's own writer would not produce: fields in any order and more than
// once, `__proto__` among them, and raw text where a value belongs.

/** A value written as it stands, valid JSON or not. */
export class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** An object as a list of fields. */
export class Fields {
  entries: [name: string, value: Node][];
  constructor(entries: [string, Node][] = []) {
    this.entries = entries;
  }
  get(name: string): Node | undefined {
    return this.entries.find(([known]) => known === name)?.[1];
  }
  set(name: string, value: Node): void {
    const entry = this.entries.find(([known]) => known === name);
    if (entry) entry[1] = value;
    else this.entries.push([name, value]);
  }
  delete(name: string): void {
    this.entries = this.entries.filter(([known]) => known !== name);
  }
}

export type Node = string | number | boolean | null | Raw | Fields | Node[];

export function writeJson(node: Node): string {
  if (node instanceof Raw) return node.text;
  if (Array.isArray(node)) return `[${node.map(writeJson).join(",")}]`;
  if (node instanceof Fields) {
    const fields = node.entries.map(
      ([name, value]) => `${JSON.stringify(name)}:${writeJson(value)}`,
    );
    return `{${fields.join(",")}}`;
  }
  return JSON.stringify(node);
}
