// News: what a tool that is new, or has changed since it was accepted, makes of a decision.
//
// It is pure.
//
//   news-1. An allow becomes an ask. What is denied stays denied, and what is asked about is asked about, with the news.
//   news-2. An allow that names the tool stands as long as its server is not pinned: nobody can put another tool in its place
//           without that tool being the one that is named.

import type { Decision, News } from "../contracts/index.js";

/** The decision, with what is new of the tool. `named`: an allow that applies names this very tool. */
export function tightened(decision: Decision, news: News | undefined, named: boolean): Decision {
  if (news === undefined || decision.kind === "deny") return decision;
  if (decision.kind === "ask") return { ...decision, reason: `${decision.reason}; ${news.text}` };
  if (named && !news.pinned) return decision; // news-2
  return { ...decision, kind: "ask", reason: `${decision.reason}, but ${news.text}; ${UNTIL}` }; // news-1
}

const UNTIL = "a person is asked each time until `toolgate pin` accepts it";
