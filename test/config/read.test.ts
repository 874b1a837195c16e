// A configuration file that cannot be read, or that is no JSON, is refused in one clear line.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../../src/adapters/config/load.js";
import { ToolgateError } from "../../src/contracts/index.js";
import { refusalOf } from "./support.js";

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolgate-config-"));
  file = join(folder, "toolgate.json");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function refused(content: string | Uint8Array) {
  await writeFile(file, content);
  const { code, message, hint } = await refusalOf(() => readConfig(file, {}));
  return { code, message: message.replace(file, "F"), hint };
}

describe("bytes", () => {
  it("a name without a file", async () => {
    const missing = join(folder, "none.json");
    expect(await refusalOf(() => readConfig(missing, {}))).toEqual({
      code: "config_unreadable",
      message: `cannot read \`${missing}\`: there is no such file`,
      hint: "name it with --config, or write one",
    });
    expect((await refusalOf(() => readConfig(join(missing, "x"), {}))).message).toContain("there is no such file");
  });

  it("a directory", async () => {
    expect(await refusalOf(() => readConfig(folder, {}))).toEqual({
      code: "config_unreadable",
      message: `cannot read \`${folder}\`: it is a directory`,
      hint: "name the file in it, such as toolgate.json",
    });
  });

  it("something that is neither file nor directory", async () => {
    expect(await refusalOf(() => readConfig("/dev/null", {}))).toEqual({
      code: "config_unreadable",
      message: "cannot read `/dev/null`: it is not a regular file",
      hint: "name a file on disk",
    });
  });

  it.each(["", "a\0b"])("the name %j, which is none", async (name) => {
    const { code, message } = await refusalOf(() => readConfig(name, {}));
    expect(code).toBe("config_unreadable");
    expect(message).toMatch(/^cannot read `.*`: that is no file name$/);
  });

  it("ten megabytes", async () => {
    expect(await refused(new Uint8Array(10_485_760))).toEqual({
      code: "config_unreadable",
      message: "cannot read `F`: it has 10485760 bytes, and 1048576 are the most a configuration may have",
      hint: "check that the name is right",
    });
  });

  it("binary, and text with NUL", async () => {
    const notText = {
      code: "config_unreadable",
      message: "cannot read `F`: it is not UTF-8 text",
      hint: "check that the name is right",
    };
    expect(await refused(Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0x80, 0xff, 0x00))).toEqual(notText);
    expect(await refused('{"model": "a\0b"}')).toEqual(notText);
  });

  it("UTF-16", async () => {
    expect(await refused(Buffer.from("\uFEFF{}", "utf16le"))).toEqual({
      code: "config_unreadable",
      message: "cannot read `F`: it is UTF-16",
      hint: "save it as UTF-8",
    });
  });
});

describe("text", () => {
  it("a syntax error says line and column, also as data (config-1)", async () => {
    expect(await refused('{\n  "model": "x"\n  "scope": "y"\n}')).toEqual({
      code: "config_invalid",
      message: 'F:3:3: expected `,` or `}`, found `"`',
      hint: "correct the JSON there; comments and a trailing comma are taken",
    });
    const error = await readConfig(file, {}).catch((cause: unknown) => cause);
    expect((error as ToolgateError).data).toEqual({ path: file, line: 3, column: 3 });
  });

  // Two servers had one name: JSON.parse kept the last one, without a warning.
  it("a server that is named twice (json-2)", async () => {
    const text = '{ "mcpServers": {\n  "docs": { "command": "a" },\n  "docs": { "command": "b" }\n} }';
    expect(await refused(text)).toMatchObject({
      code: "config_invalid",
      message: "F:3:3: the key `docs` stands twice in one object, first at line 2",
    });
  });

  it.each(["[]", "null", '"x"', "1"])("%s is no configuration", async (text) => {
    expect(await refused(text)).toMatchObject({
      code: "config_invalid",
      message: expect.stringMatching(/^F:1:1: a configuration must be an object, not (a list|null|a string|a number)$/),
      hint: "write `{}` for one without servers",
    });
  });

  it.each(["", "\uFEFF", "  \r\n", "{}", "// nothing yet\n", '{ "mcpServers": {} }'])(
    "%j is a configuration without servers (config-4)",
    async (text) => {
      await writeFile(file, text);
      const { config, findings } = await readConfig(file, {});
      expect(config.mcpServers).toEqual({});
      expect(findings).toEqual([]);
    },
  );

  // A server worked in a shell and failed under its host, because its folder was relative to another place.
  it("relative paths are relative to the file, from wherever it is named", async () => {
    await mkdir(join(folder, "srv"), { recursive: true });
    const servers = {
      own: { command: "node" },
      below: { command: "node", cwd: "./srv" },
      far: { command: "node", cwd: "/" },
    };
    await writeFile(file, JSON.stringify({ model: "scripted:s.json", mcpServers: servers }));
    const { config } = await readConfig(join(folder, "srv", "..", "toolgate.json"), {});
    expect(config.mcpServers).toMatchObject({
      own: { cwd: folder },
      below: { cwd: join(folder, "srv") },
      far: { cwd: "/" },
    });
    expect(config.store).toEqual({ kind: "sqlite", path: join(folder, ".toolgate") });
    expect(config.model).toBe(`scripted:${join(folder, "s.json")}`);
    expect(config.folder).toBe(folder);
  });
});

it("an error of the host is a ToolgateError", async () => {
  await expect(readConfig(join(folder, "none.json"), {})).rejects.toBeInstanceOf(ToolgateError);
});
