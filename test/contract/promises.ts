// The promises, as data: what toolgate says of itself in the README, each cited by a test that fails when the code that
// keeps it is broken. `since`: the version in which it holds; null: not kept yet, and not to be relied on.

export interface Promise_ {
  readonly id: string;
  readonly sentence: string;
  readonly since: string | null;
}

export const promises: readonly Promise_[] = [
  {
    id: "G1",
    sentence:
      "A call runs only if its tool was in the snapshot that the model was given for that very response. A tool loaded in the same batch can be used from the next model request on, never earlier.",
    since: "0.1.0",
  },
  {
    id: "G2",
    sentence:
      "A snapshot is published whole or not at all: definitions the model sees and routes the host uses come from one assembly, made from each server's last complete list. A failed discovery never publishes half a list.",
    since: "0.1.0",
  },
  {
    id: "G3",
    sentence:
      "`deny` beats `ask` beats `allow`, whatever the order of rules; a tool no rule names is asked about. What a server says of itself (annotations, descriptions) never loosens a decision.",
    since: "0.1.0",
  },
  {
    id: "G4",
    sentence:
      "An approval is for one operation: exact arguments, server (what its name points to and the credentials it is called with), tool, tool-definition digest, thread, scope, approver, expiry. It is consumed once, in the same transaction as the claim.",
    since: "0.1.0",
  },
  { id: "G5", sentence: "`dispatching` is on disk before the first byte leaves for a server.", since: "0.1.0" },
  {
    id: "G6",
    sentence:
      'A write is sent at most once. No retry, reconnect, replay, fork, crash, double click or second host sends it again. (A read the host declared as `effect: "read"` may be sent again after a crash; declaring it says so.)',
    since: "0.1.0",
  },
  {
    id: "G7",
    sentence:
      'No trustworthy answer to a write is `result_unknown`, never "failed". It halts further automatic writes of the thread; reads can go on; a person, or a read-back the host declared, settles it.',
    since: "0.1.0",
  },
  {
    id: "G8",
    sentence:
      "Every tool call the model made gets exactly one tool message with its own id, in the right place, whatever happened: also when a new message, a crash or an abandoned question came between.",
    since: "0.1.0",
  },
  {
    id: "G9",
    sentence:
      "Graph state cannot authorise anything. `execute` takes route, definition, effect, decision and verdict from the host's own stores just before sending; a jump, fork, edited state or forged resume value does not get past it.",
    since: "0.1.0",
  },
  {
    id: "G10",
    sentence:
      "Text from servers is data: bounded before it is used, hidden characters shown where a person decides, never treated as instructions, never able to switch a policy.",
    since: "0.1.0",
  },
  {
    id: "G11",
    sentence:
      "Secrets (values from the environment, tokens, grants) never reach the model, the state, a log line or an error text.",
    since: "0.1.0",
  },
  { id: "G12", sentence: "Replay shows what was recorded and contacts no server and no model.", since: null },
  {
    id: "G13",
    sentence:
      "Nothing a server or a model sends ends the host process, freezes it, or lets one thread or server hold up the others beyond a stated bound.",
    since: "0.1.0",
  },
  { id: "G14", sentence: "Records of one scope do not exist for another, at any door.", since: "0.1.0" },
  {
    id: "G15",
    sentence:
      "A store that was edited or set back is noticed before anything is sent, as far as the README's threat model says.",
    since: "0.1.0",
  },
];
