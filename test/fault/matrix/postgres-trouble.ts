// A Postgres database that cannot take a write, as another session of it sees to. Each resolves when it is so, with what
// ends it.

import pg from "pg";

export type Trouble = (url: string) => Promise<() => Promise<void>>;

async function session(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** Asks one after the other, each in a transaction of its own. */
export async function ask(url: string, ...texts: readonly string[]): Promise<void> {
  const client = await session(url);
  try {
    for (const text of texts) await client.query(text);
  } finally {
    await client.end();
  }
}

/** Another session holds the threads. What a host asks in the meantime stays queued in the server. */
export const locked: Trouble = async (url) => {
  const client = await session(url);
  await client.query("BEGIN");
  await client.query("LOCK TABLE toolgate_threads IN ACCESS EXCLUSIVE MODE");
  return async () => {
    await client.query("ROLLBACK");
    await client.end();
  };
};

/** New sessions are read-only, and the old ones are ended. */
export const readOnly: Trouble = async (url) => {
  const set = (how: string) => `DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I ${how}', current_database());
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
  END $$`;
  await ask(url, set("SET default_transaction_read_only = on"));
  return () => ask(url, "SET default_transaction_read_only = off", set("RESET default_transaction_read_only"));
};

/** Every change of a thread ends as Postgres ends it when its disk is full. */
export const full: Trouble = async (url) => {
  await ask(
    url,
    `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
     CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON toolgate_threads EXECUTE FUNCTION full_disk()`,
  );
  return () => ask(url, "DROP TRIGGER full_disk ON toolgate_threads; DROP FUNCTION full_disk()");
};
