// The records that a command reads, without the agent. Closed whatever happens.

import { openRecords } from "../create/ledger-only.js";
import type { Records } from "../report/records.js";
import { Stopped } from "./error-report.js";
import type { Context } from "./io.js";
import { notedConfig } from "./read-config.js";
import { redacted } from "./redacted.js";

/** Runs `work` with the records and closes them, whatever happens. */
export async function withRecords<T>(context: Context, work: (records: Records) => Promise<T>): Promise<T> {
  const config = await notedConfig(context, { seals: true });
  const { records, redact, close } = await openRecords(config);
  const { stop } = context.io;
  const end = () => {
    void close().catch(() => undefined); // a failure is reported by the `close` below
  };
  stop.addEventListener("abort", end);
  try {
    if (stop.aborted) throw new Stopped();
    return await work(records);
  } catch (error) {
    throw redacted(error, redact);
  } finally {
    stop.removeEventListener("abort", end);
    await close();
  }
}
