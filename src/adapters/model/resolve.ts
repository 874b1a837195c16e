// Resolves a model's name: a script, or a provider's model through LangChain's `initChatModel`.
//
// When something is missing, the error says what to do about it (`model_missing` and a hint) instead of a stack of imports.
//
//   model-1. The caller of a run cannot choose another model: nothing of the model is configurable at run time.

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { initChatModel, MODEL_PROVIDER_CONFIG } from "langchain/chat_models/universal";
import { oneLine, ToolgateError } from "../../contracts/index.js";
import { readText } from "../config/read-text.js";
import { parseScript } from "./script.js";
import { scriptedModel } from "./scripted.js";

const SCRIPT_PREFIX = "scripted:";

/** Throws `model_missing`, and `config_invalid` for a script that is none. */
export async function resolveModel(name: string | undefined): Promise<BaseChatModel> {
  if (name === undefined || name.trim() === "") {
    throw new ToolgateError(
      "model_missing",
      "no model is configured",
      'set "model" in the configuration or pass --model, for example "openai:gpt-5" or "scripted:script.json"',
    );
  }
  return name.startsWith(SCRIPT_PREFIX) ? scriptOf(name.slice(SCRIPT_PREFIX.length)) : providerModel(name);
}

async function scriptOf(path: string): Promise<BaseChatModel> {
  let text: string;
  try {
    text = await readText(path);
  } catch (cause) {
    const { problem } = (cause as ToolgateError).data as { problem: string };
    const hint = "check the path after `scripted:`; in a configuration it is relative to that file";
    throw new ToolgateError("model_missing", `the script \`${path}\` cannot be opened: ${problem}`, hint, { cause });
  }
  return scriptedModel(parseScript(text, path));
}

async function providerModel(name: string): Promise<BaseChatModel> {
  try {
    const model = await initChatModel(name, { configurableFields: [] }); // model-1
    const opened = (await model._getModelInstance()) as unknown as ProviderModel;
    if (KEY_AT_CALL.includes(opened.constructor.name) && !opened.apiKey) {
      throw new Error(`${opened.lc_secrets?.apiKey} is not set`);
    }
    return model as unknown as BaseChatModel;
  } catch (cause) {
    throw missing(name, cause);
  }
}

/** Classes that open without the key they need and fail only at the first request. */
const KEY_AT_CALL = ["ChatOpenAI", "ChatAnthropic"];

interface ProviderModel {
  readonly apiKey?: unknown;
  readonly lc_secrets?: Readonly<Record<string, string>>;
  readonly constructor: { readonly name: string };
}

/** The error for a model that could not be opened, with the next step its cause suggests. */
function missing(name: string, cause: unknown): ToolgateError {
  const text = cause instanceof Error ? cause.message : String(cause);
  const about = (message: string, hint: string) =>
    new ToolgateError("model_missing", `the model \`${oneLine(name, 100)}\` ${message}`, hint, { cause });
  const uninstalled = /Unable to import (\S+?)\./.exec(text)?.[1] ?? /Cannot find package '([^']+)'/.exec(text)?.[1];
  if (uninstalled) return about(`needs the package \`${uninstalled}\``, `npm install ${uninstalled}`);
  const variable = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:API_KEY|TOKEN|ACCESS_KEY)\b/.exec(text)?.[0];
  if (variable || /api[ _-]?key|credential/i.test(text)) {
    const hint = variable
      ? `set the environment variable ${variable}`
      : "set the key that the provider's package expects";
    return about("has no key", hint);
  }
  if (/infer model provider|Unsupported .*modelProvider/.test(text)) {
    const providers = Object.keys(MODEL_PROVIDER_CONFIG).join(", ");
    return about("names no provider that is known", `write it as provider:model, with one of ${providers}`);
  }
  return about(`could not be opened: ${oneLine(text)}`, "check its name and what its provider's package expects");
}
