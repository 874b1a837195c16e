// A schema of Postgres as text, and back: its tables as they were made, and their rows as Postgres itself writes them in JSON.
//
// No code of the store has a part in it, so that a dump of an old version brings back that version's tables, not today's.

import pg from "pg";

export interface Dump {
  /** Statements that make the tables, their indexes among them. */
  readonly tables: readonly string[];
  /** By table: a JSON list of rows, as text. Bytes are hexadecimal; numbers are never read as JavaScript's. */
  readonly rows: Readonly<Record<string, string>>;
}

const HERE = "relnamespace = current_schema()::regnamespace AND relkind = 'r'";

const TABLES = `SELECT relname AS name, format('CREATE TABLE %I (%s)', relname, concat_ws(', ',
    (SELECT string_agg(concat_ws(' ', quote_ident(attname), format_type(atttypid, atttypmod),
      CASE WHEN attnotnull THEN 'NOT NULL' END, CASE attidentity WHEN 'a' THEN 'GENERATED ALWAYS AS IDENTITY' END,
      'DEFAULT ' || pg_get_expr(adbin, adrelid)), ', ' ORDER BY attnum)
      FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
      WHERE attrelid = tables.oid AND attnum > 0 AND NOT attisdropped),
    (SELECT string_agg(format('CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)), ', ' ORDER BY conname)
      FROM pg_constraint WHERE conrelid = tables.oid AND contype IN ('p', 'u', 'c')))) AS made
  FROM pg_class tables WHERE ${HERE} ORDER BY 1`;

const INDEXES = `SELECT pg_get_indexdef(indexrelid, 0, true) AS made FROM pg_index JOIN pg_class ON oid = indrelid
  WHERE ${HERE} AND indexrelid NOT IN (SELECT conindid FROM pg_constraint) ORDER BY 1`;

const IDENTITIES = `SELECT relname AS name, attname AS cell FROM pg_attribute JOIN pg_class ON oid = attrelid
  WHERE ${HERE} AND attidentity <> ''`;

/** Reads a whole schema, the one the connections of `url` start in. */
export function dumped(url: string): Promise<Dump> {
  return connected(url, async (client) => {
    const tables = (await client.query<{ name: string; made: string }>(TABLES)).rows;
    const indexes = (await client.query<{ made: string }>(INDEXES)).rows;
    const rows: Record<string, string> = {};
    for (const { name } of tables) {
      const all = `SELECT coalesce(json_agg(to_json(t) ORDER BY t::text), '[]')::text AS all FROM ${name} t`;
      rows[name] = (await client.query<{ all: string }>(all)).rows[0]?.all ?? "[]";
    }
    return { tables: [...tables, ...indexes].map(({ made }) => made), rows };
  });
}

/** Makes the tables in an empty schema, with their rows. */
export function load(url: string, dump: Dump): Promise<void> {
  return connected(url, async (client) => {
    await client.query(["BEGIN", ...dump.tables].join(";\n"));
    for (const [name, rows] of Object.entries(dump.rows)) {
      const from = `json_populate_recordset(NULL::${name}, $1::json)`;
      await client.query(`INSERT INTO ${name} OVERRIDING SYSTEM VALUE SELECT * FROM ${from}`, [rows]);
    }
    for (const { name, cell } of (await client.query<{ name: string; cell: string }>(IDENTITIES)).rows)
      await client.query(`SELECT setval(pg_get_serial_sequence('${name}', '${cell}'), max(${cell})) FROM ${name}`);
    await client.query("COMMIT");
  });
}

/** Runs something on a connection of its own. */
export async function connected<T>(url: string, run: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}
