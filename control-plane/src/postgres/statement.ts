// SQL as this codebase writes it: text with $1, $2 …, in a store file, with the type of its rows. Each
// statement is prepared once per connection, under a name made from its text.
import { createHash } from "node:crypto";

export interface Statement<Row> {
  name: string;
  text: string;
  /** Never set; carries the row's type. */
  row?: Row;
}

export function statement<Row = never>(text: string): Statement<Row> {
  return { name: createHash("sha256").update(text).digest("hex").slice(0, 20), text };
}

/**
 * A statement that may also run as hawser_system, which sees every organization's rows. Each one says
 * its purpose, and a test contains the whole list.
 */
export interface SystemStatement<Row> extends Statement<Row> {
  purpose: string;
}

export const systemStatements = new Map<string, string>();

export function systemStatement<Row = never>(purpose: string, text: string): SystemStatement<Row> {
  systemStatements.set(purpose, text);
  return { ...statement<Row>(text), purpose };
}

/** A statement with its values, ready to be sent. */
export interface Query<Row> {
  statement: Statement<Row>;
  values: unknown[];
}

export interface SystemQuery<Row> extends Query<Row> {
  statement: SystemStatement<Row>;
}

export function query<Row>(statement: SystemStatement<Row>, ...values: unknown[]): SystemQuery<Row>;
export function query<Row>(statement: Statement<Row>, ...values: unknown[]): Query<Row>;
export function query<Row>(statement: Statement<Row>, ...values: unknown[]): Query<Row> {
  return { statement, values };
}

/** Runs statements across organizations: only system statements. */
export interface SystemSql {
  rows<Row>(statement: SystemStatement<Row>, ...values: unknown[]): Promise<Row[]>;
  first<Row>(statement: SystemStatement<Row>, ...values: unknown[]): Promise<Row | undefined>;
  /** Several statements in one round trip, and in one transaction. */
  together<Rows extends unknown[]>(
    ...queries: { [Index in keyof Rows]: SystemQuery<Rows[Index]> }
  ): Promise<{ [Index in keyof Rows]: Rows[Index][] }>;
}

/** Runs any statement: a tenant's reads, or a transaction of one. */
export interface Sql {
  rows<Row>(statement: Statement<Row>, ...values: unknown[]): Promise<Row[]>;
  first<Row>(statement: Statement<Row>, ...values: unknown[]): Promise<Row | undefined>;
  /** Several statements in one round trip. */
  together<Rows extends unknown[]>(
    ...queries: { [Index in keyof Rows]: Query<Rows[Index]> }
  ): Promise<{ [Index in keyof Rows]: Rows[Index][] }>;
}

/** SQL that sees one organization's rows and no others. */
export interface TenantSql extends Sql {
  readonly organizationId: string;
  /** The session of an agent's key, which limits what is visible; null for every other caller. */
  readonly agentSessionId: string | null;
  /** The member who is served by grants alone, which limits what is visible; null for every other caller. */
  readonly grantedUserId: string | null;
}

/** Creates the three forms from a function that runs a list of queries. */
export function sqlFrom(run: (queries: Query<unknown>[]) => Promise<unknown[][]>): Sql {
  const rows = async <Row>(statement: Statement<Row>, ...values: unknown[]) =>
    (await run([{ statement, values }]))[0] as Row[];
  return {
    rows,
    first: async (statement, ...values) => (await rows(statement, ...values))[0],
    together: async (...queries) => (await run(queries)) as never,
  };
}
