// The command line: which commands and options there are, and what each of them runs.
//
//   cli-1. With --json exactly one JSON object is written to stdout, whatever happens, and nothing else.
//   cli-2. A failure is one line and what to do about it. A stack trace is shown only with --verbose.
//   cli-3. A command line that cannot be read starts nothing and ends with 2.
//   cli-4. A command is loaded when it runs, so that help and mistakes are reported at once. What is loaded before imports
//          single files of the contracts, because their index loads zod.

import { Command, CommanderError } from "commander";
import { mustHaveFolder } from "../adapters/process/working-folder.js";
import type { AcceptOptions } from "./commands/accept.js";
import type { ResolveOptions } from "./commands/answer.js";
import type { RunOptions } from "./commands/run.js";
import { failureOf, Stopped, tellFailure, UsageError } from "./error-report.js";
import { EXIT } from "./exit.js";
import { type CommandResult, type Context, commandLine, DEFAULT_CONFIG, type Io, type Options } from "./io.js";
import { jsonLine } from "./json-line.js";
import { fitted } from "./wrap.js";

/** Runs one command line, without the program's own name. Resolves with the exit code; never rejects. */
export async function runCommand(argv: readonly string[], io: Io): Promise<number> {
  const help: { text: string } = { text: "" };
  let outcome: CommandResult | undefined;
  let context = contextOf(io, { json: asksForJson(argv), verbose: argv.includes("--verbose") });
  const program = build(io, help, async (options, command) => {
    context = contextOf(io, options);
    mustHaveFolder(io.cwd);
    outcome = await command(context);
  });
  try {
    await program.parseAsync([...argv], { from: "user" });
  } catch (error) {
    return failed(context, error, help.text);
  }
  if (outcome === undefined) return EXIT.done;
  print(context, outcome);
  return outcome.exitCode;
}

/** Commander leaves out flags that were not given. */
function contextOf(io: Io, given: Partial<Options>): Context {
  const options = {
    config: given.config ?? DEFAULT_CONFIG,
    json: given.json === true,
    verbose: given.verbose === true,
  };
  return {
    io: { ...io, cwd: io.cwd ?? "" },
    options,
    note: (line) => void io.stderr.write(`${fitted(io.stderr, line)}\n`),
  };
}

/** Whether --json is given, also when the rest of the command line cannot be read. (cli-1) */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? argv.length : end).includes("--json");
}

function print({ io, options }: Context, { value, text }: CommandResult): void {
  if (options.json)
    io.stdout.write(`${jsonLine(value)}\n`); // cli-1
  else if (text !== "") io.stdout.write(`${text}\n`);
}

function failed(context: Context, error: unknown, help: string): number {
  const { io, options } = context;
  if (error instanceof CommanderError && error.exitCode === 0) {
    io.stdout.write(help); // --help and --version
    return EXIT.done;
  }
  if (error instanceof Stopped) return stopped(context, error);
  const shown = error instanceof CommanderError ? usageOf(error) : error;
  const failure = failureOf(shown);
  if (options.json) io.stdout.write(`${jsonLine({ status: "error", error: failure })}\n`); // cli-1
  tellFailure(context, failure, shown); // cli-2
  return shown instanceof UsageError ? EXIT.usage : EXIT.error; // cli-3
}

/** Reports a stopped run. The caller knows which signal stopped it and ends the process with its code. */
function stopped(context: Context, { threadId }: Stopped): number {
  const hint =
    threadId === undefined ? "run it again" : `\`${commandLine(context, "run", "--thread", threadId)}\` goes on`;
  const error = { code: "stopped", message: "stopped", hint };
  const thread = threadId === undefined ? {} : { threadId };
  if (context.options.json) context.io.stdout.write(`${jsonLine({ ...thread, status: "error", error })}\n`); // cli-1
  tellFailure(context, error, undefined);
  return EXIT.error;
}

function usageOf({ code, message }: CommanderError): UsageError {
  if (code === "commander.help") return new UsageError("there is no command", "run `toolgate --help` to see them");
  const [first = "", second = ""] = message.replace(/^error: /, "").split("\n");
  const hint = code === "commander.excessArguments" ? "put the question into quotes" : second.replace(/[()]/g, "");
  return new UsageError(first, hint === "" ? "run `toolgate --help` to see how it is used" : hint);
}

type Run = (options: Options, command: (context: Context) => Promise<CommandResult>) => Promise<void>;

/** Collects in `help` what commander would print. Commander's own error texts are dropped: `usageOf` writes them anew. */
function build(io: Io, help: { text: string }, run: Run): Command {
  const program = new Command("toolgate")
    .description("Lets a model use MCP tools through a gate that you control.")
    .version(io.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        help.text += text;
      },
      writeErr: () => undefined,
    })
    .configureHelp({ showGlobalOptions: true })
    .option("--config <file>", "the configuration", DEFAULT_CONFIG)
    .option("--json", "one JSON object on stdout and nothing else; never asks")
    .option("--verbose", "where a failure comes from");
  // The help lists the commands in this order.
  addRun(program, run);
  addApprovals(program, run);
  addUnknowns(program, run);
  addAccept(program, run);
  addForget(program, run);
  addInspection(program, run);
  return program;
}

const answers = () => import("./commands/answer.js"); // cli-4
const records = () => import("./commands/list.js");

/** A commander action that runs `command` with its own options and arguments. */
function action<O>(
  run: Run,
  command: (context: Context, options: O, args: readonly string[]) => Promise<CommandResult>,
) {
  return (...given: unknown[]) => {
    const self = given.at(-1) as Command;
    const args = given.slice(0, -2) as string[];
    return run(self.optsWithGlobals<Options>(), (context) => command(context, self.opts() as O, args));
  };
}

function addRun(program: Command, run: Run): void {
  program
    .command("run [question]")
    .description("one turn with the model; without a question: go on with a thread")
    .option("--thread <id>", "the conversation; a new one without it")
    .option("--model <name>", "in place of the configuration's, or scripted:FILE")
    .action(
      action<RunOptions>(run, async (context, options, [question]) =>
        (await import("./commands/run.js")).run(context, question, options),
      ),
    );
}

function addApprovals(program: Command, run: Run): void {
  program
    .command("approvals")
    .description("calls that wait for a yes")
    .action(action(run, async (context) => (await records()).approvals(context)));
  program
    .command("approve <id>")
    .description("let a call run, exactly as it was shown")
    .action(action(run, async (context, _, [id]) => (await answers()).approve(context, id as string)));
  program
    .command("reject <id>")
    .description("refuse a call")
    .option("--reason <text>", "for the model to read")
    .action(
      action<{ reason?: string }>(run, async (context, { reason }, [id]) =>
        (await answers()).reject(context, id as string, reason),
      ),
    );
  program
    .command("edit <id>")
    .description("let a call run with other arguments")
    .requiredOption("--args <json>", "the arguments, a JSON object")
    .action(
      action<{ args: string }>(run, async (context, { args }, [id]) =>
        (await answers()).edit(context, id as string, args),
      ),
    );
}

function addUnknowns(program: Command, run: Run): void {
  program
    .command("unknowns")
    .description("writes that may or may not have happened")
    .action(action(run, async (context) => (await records()).listUnknowns(context)));
  program
    .command("resolve <operation>")
    .description("say what became of such a write")
    .option("--happened", "it did")
    .option("--did-not-happen", "it did not")
    .option("--leave", "nobody knows; no further write of the thread runs")
    .option("--note <text>", "how you found out")
    .action(
      action<ResolveOptions>(run, async (context, options, [id]) =>
        (await answers()).resolveUnknown(context, id as string, options),
      ),
    );
}

function addAccept(program: Command, run: Run): void {
  program
    .command("accept [thread]")
    .description("take a thread as it is whose record another hand changed")
    .option("--restored", "the whole store, after it was set back")
    .option("--note <text>", "how you found out what was sent")
    .action(
      action<AcceptOptions>(run, async (context, options, [thread]) =>
        (await import("./commands/accept.js")).accept(context, thread, options),
      ),
    );
}

function addForget(program: Command, run: Run): void {
  program
    .command("forget <thread>")
    .description("take what a conversation was about out of the store")
    .action(
      action(run, async (context, _, [thread]) =>
        (await import("./commands/forget.js")).forget(context, thread as string),
      ),
    );
}

function addInspection(program: Command, run: Run): void {
  program
    .command("tools")
    .description("what the servers offer, and what you decide about it")
    .option("--snapshot <id>", "as a model was shown it, instead of now")
    .action(
      action<{ snapshot?: string }>(run, async (context, { snapshot }) =>
        (await import("./commands/tools.js")).tools(context, snapshot),
      ),
    );
  program
    .command("check")
    .description("everything wrong with the configuration")
    .option("--connect", "start the servers to see what only their lists can tell")
    .action(
      action<{ connect?: boolean }>(run, async (context, { connect }) =>
        (await import("./commands/check.js")).check(context, connect === true),
      ),
    );
  program
    .command("pin")
    .description("accept the tools that the servers list now; what is new or changed later is asked about")
    .option("--server <name>", "of one server, instead of all")
    .action(
      action<{ server?: string }>(run, async (context, { server }) =>
        (await import("./commands/pin.js")).pin(context, server),
      ),
    );
  program
    .command("threads")
    .description("conversations and where they stand")
    .action(action(run, async (context) => (await records()).threads(context)));
}
