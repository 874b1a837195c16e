// Reads the text of a configuration file, or says why it cannot be read.

import { constants } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { oneLine, ToolgateError } from "../../contracts/index.js";

/** The largest file that is read, in bytes. */
const MAX_CONFIG_BYTES = 1_048_576;

/** The file may be replaced by a pipe after it was looked at. Opening that pipe must not block. */
const WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Reads UTF-8 text from a regular file of bounded size. Throws `ToolgateError` `config_unreadable`. */
export async function readText(path: string): Promise<string> {
  const unreadable = (problem: string, hint: string, cause?: unknown) =>
    new ToolgateError("config_unreadable", `cannot read \`${oneLine(path)}\`: ${problem}`, hint, {
      data: { path, problem },
      cause,
    });
  if (path === "" || path.includes("\0")) throw unreadable("that is no file name", "name the file with --config");
  let bytes: Buffer;
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw unreadable("it is a directory", "name the file in it, such as toolgate.json");
    if (!found.isFile()) throw unreadable("it is not a regular file", "name a file on disk");
    if (found.size > MAX_CONFIG_BYTES) {
      const problem = `it has ${found.size} bytes, and ${MAX_CONFIG_BYTES} are the most a configuration may have`;
      throw unreadable(problem, "check that the name is right");
    }
    bytes = await readFile(path, { flag: WITHOUT_WAITING });
  } catch (cause) {
    if (cause instanceof ToolgateError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown error";
    if (code === "ENOENT" || code === "ENOTDIR")
      throw unreadable("there is no such file", "name it with --config, or write one", cause);
    throw unreadable(`the system says ${code}`, "check who may read it", cause);
  }
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff))
    throw unreadable("it is UTF-16", "save it as UTF-8");
  const text = decoded(bytes);
  if (text === undefined || text.includes("\0"))
    throw unreadable("it is not UTF-8 text", "check that the name is right");
  return text;
}

function decoded(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
