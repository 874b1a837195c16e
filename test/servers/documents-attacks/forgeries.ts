// Grants that are none, as data: what the attacker makes of a report and an operation, and the rule that must stop it.

import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { base64url, claimsOf, digestOf, grant, HEADER, newId, type Report, SECRET, seconds, signed } from "./grants.js";

/** Makes the attacker's token for a report and an operation. */
export type Forge = (report: Report, id: string) => string;
export type Attack = readonly [string, Forge, string];

const NOT_SIGNED = "must be a grant signed with this server's secret";
const NOT_HS256 = "must be signed with HS256";
const NOT_HEADER = "must have exactly the header of a grant";
const EXPIRED = "must not have expired";
const LIFE = "must live at most 60 seconds";
const ARGUMENTS = "must be for this file name and this content";
const CLAIMS = "must have all claims of a grant";
const LENGTH = "must be a string of 1 to 2048 characters";

const TYP = "toolgate-grant+jwt";
const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const publicPem = rsa.publicKey.export({ type: "spki", format: "pem" }) as string;
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });

export const payload = (report: Report, id: string): string => JSON.stringify(claimsOf(report, id));
/** The right claims under another header, with the right secret. */
const headed =
  (header: object, hash = "sha256"): Forge =>
  (report, id) =>
    signed(JSON.stringify(header), payload(report, id), hash);
/** The right header and secret under other claims. */
export const claiming =
  (changes: object | (() => object)): Forge =>
  (report, id) =>
    grant(report, id, typeof changes === "function" ? changes() : changes);
/** An honest grant, as text changed afterwards. */
const changed =
  (change: (parts: readonly [string, string, string], whole: string) => string): Forge =>
  (report, id) => {
    const whole = grant(report, id);
    return change(whole.split(".") as unknown as [string, string, string], whole);
  };
/** The right claims under a signature of another kind. */
const signedBy =
  (header: object, make: (text: string) => Buffer): Forge =>
  (report, id) => {
    const text = `${base64url(JSON.stringify(header))}.${base64url(payload(report, id))}`;
    return `${text}.${base64url(make(Buffer.from(text).toString()))}`;
  };

/** The last of 43 characters carries two bits that mean nothing: another character that decodes to the same signature. */
function spelled(token: string): string {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return token.slice(0, -1) + digits[digits.indexOf(token.slice(-1)) + 1];
}

const texts: readonly Attack[] = [
  ["a word", () => "yes", NOT_SIGNED],
  ["random text", () => randomBytes(60).toString("base64url"), NOT_SIGNED],
  [
    "three random parts",
    () => Array.from({ length: 3 }, () => randomBytes(40).toString("base64url")).join("."),
    NOT_SIGNED,
  ],
  ["the secret itself", () => SECRET, NOT_SIGNED],
  ["claims without more", (report, id) => payload(report, id), NOT_SIGNED],
  ["two points", () => "..", NOT_SIGNED],
  ["NUL", changed((_, whole) => `${whole}\u0000`), NOT_SIGNED],
  ["a space behind", changed((_, whole) => `${whole} `), NOT_SIGNED],
  ["a newline behind", changed((_, whole) => `${whole}\n`), NOT_SIGNED],
  ["a newline between", changed(([a, b, c]) => `${a}.\n${b}.${c}`), NOT_SIGNED],
  ["`Bearer` before it", changed((_, whole) => `Bearer ${whole}`), NOT_SIGNED],
  ["padding", changed((_, whole) => `${whole}=`), NOT_SIGNED],
  ["the other base64", changed(([a, b, c]) => `${a}.${b}.${c.replaceAll("-", "+").replaceAll("_", "/")}+`), NOT_SIGNED],
  ["full-width points", changed((parts) => parts.join("\uff0e")), NOT_SIGNED],
  ["flattened JSON", changed(([a, b, c]) => JSON.stringify({ protected: a, payload: b, signature: c })), NOT_SIGNED],
  [
    "general JSON",
    changed(([a, b, c]) => JSON.stringify({ payload: b, signatures: [{ protected: a, signature: c }] })),
    NOT_SIGNED,
  ],
  ["two grants", changed((_, whole) => `${whole}.${whole}`), NOT_SIGNED],
  ["five parts, as an encrypted token has", changed((_, whole) => `${whole}.AAAA.AAAA`), NOT_SIGNED],
];

const signatures: readonly Attack[] = [
  ["no signature", changed(([a, b]) => `${a}.${b}.`), NOT_SIGNED],
  ["no signature and no point", changed(([a, b]) => `${a}.${b}`), NOT_SIGNED],
  ["a signature of zeros", changed(([a, b]) => `${a}.${b}.${"A".repeat(43)}`), NOT_SIGNED],
  [
    "one bit of the signature",
    changed(([a, b, c]) => `${a}.${b}.${c.startsWith("A") ? "B" : "A"}${c.slice(1)}`),
    NOT_SIGNED,
  ],
  ["half of the signature", changed(([a, b, c]) => `${a}.${b}.${c.slice(0, 22)}`), NOT_SIGNED],
  ["the signature's last character spelled in another way", changed((_, whole) => spelled(whole)), NOT_SIGNED],
  ["the signature twice", changed(([a, b, c]) => `${a}.${b}.${c}${c}`), NOT_SIGNED],
  [
    "another key",
    (report, id) => signed(HEADER, payload(report, id), "sha256", "another-secret-0123456789-0123456789"),
    NOT_SIGNED,
  ],
  ["an empty key", (report, id) => signed(HEADER, payload(report, id), "sha256", ""), NOT_SIGNED],
  [
    "the secret with a newline",
    (report, id) => signed(HEADER, payload(report, id), "sha256", `${SECRET}\n`),
    NOT_SIGNED,
  ],
  [
    "the secret in base64",
    (report, id) => signed(HEADER, payload(report, id), "sha256", base64url(SECRET)),
    NOT_SIGNED,
  ],
  [
    "the signature of other claims",
    (report, id) => {
      const [a, , c] = grant(report, newId()).split(".");
      return `${a}.${base64url(payload(report, id))}.${c}`;
    },
    NOT_SIGNED,
  ],
  [
    "a public RSA key as the secret",
    (report, id) => signed(HEADER, payload(report, id), "sha256", publicPem),
    NOT_SIGNED,
  ],
];

const headers: readonly Attack[] = [
  [
    "alg none",
    (report, id) => `${base64url(`{"alg":"none","typ":"${TYP}"}`)}.${base64url(payload(report, id))}.`,
    NOT_HS256,
  ],
  ["alg none, signed", headed({ alg: "none", typ: TYP }), NOT_HS256],
  ["alg None", headed({ alg: "None", typ: TYP }), NOT_HS256],
  ["alg hs256", headed({ alg: "hs256", typ: TYP }), NOT_HS256],
  ["HS384", headed({ alg: "HS384", typ: TYP }, "sha384"), NOT_HS256],
  ["HS512", headed({ alg: "HS512", typ: TYP }, "sha512"), NOT_HS256],
  ["HS512 said, HS256 done", headed({ alg: "HS512", typ: TYP }), NOT_HS256],
  ["HS256 said, HS512 done", headed({ alg: "HS256", typ: TYP }, "sha512"), NOT_SIGNED],
  [
    "RS256 with a key of the attacker",
    signedBy({ alg: "RS256", typ: TYP }, (text) => sign("sha256", Buffer.from(text), rsa.privateKey)),
    NOT_HS256,
  ],
  [
    "ES256 with a key of the attacker",
    signedBy({ alg: "ES256", typ: TYP }, (text) =>
      sign("sha256", Buffer.from(text), { key: ec.privateKey, dsaEncoding: "ieee-p1363" }),
    ),
    NOT_HS256,
  ],
  ["RS256 said, the secret used", headed({ alg: "RS256", typ: TYP }), NOT_HS256],
  [
    "HS256 said, RSA used",
    signedBy({ alg: "HS256", typ: TYP }, (text) => sign("sha256", Buffer.from(text), rsa.privateKey)),
    NOT_SIGNED,
  ],
  ["no alg", headed({ typ: TYP }), NOT_SIGNED],
  ["a list of algs", headed({ alg: ["HS256"], typ: TYP }), NOT_SIGNED],
  [
    "alg twice, none last",
    (report, id) => signed(`{"alg":"HS256","typ":"${TYP}","alg":"none"}`, payload(report, id)),
    NOT_HS256,
  ],
  ["the header's keys the other way round", headed({ typ: TYP, alg: "HS256" }), NOT_HEADER],
  ["a space in the header", (report, id) => signed(HEADER.replace(",", ", "), payload(report, id)), NOT_HEADER],
  [
    "typ twice, the last right",
    (report, id) => signed(HEADER.replace("{", '{"typ":"JWT",'), payload(report, id)),
    NOT_HEADER,
  ],
  ["no typ", headed({ alg: "HS256" }), NOT_HEADER],
  ["typ JWT", headed({ alg: "HS256", typ: "JWT" }), NOT_HEADER],
  ["typ in capitals", headed({ alg: "HS256", typ: TYP.toUpperCase() }), NOT_HEADER],
  ["typ as a media type", headed({ alg: "HS256", typ: `application/${TYP}` }), NOT_HEADER],
  ["crit of a known name", headed({ alg: "HS256", typ: TYP, crit: ["exp"], exp: 1 }), NOT_SIGNED],
  ["crit of an unknown name", headed({ alg: "HS256", typ: TYP, crit: ["x"], x: 1 }), NOT_SIGNED],
  ["an empty crit", headed({ alg: "HS256", typ: TYP, crit: [] }), NOT_SIGNED],
  ["b64 false", headed({ alg: "HS256", typ: TYP, b64: false }), NOT_HEADER],
  ["b64 false and critical", headed({ alg: "HS256", typ: TYP, b64: false, crit: ["b64"] }), NOT_SIGNED],
  [
    "its own key",
    (report, id) => {
      const own = randomBytes(32);
      const header = { alg: "HS256", typ: TYP, jwk: { kty: "oct", k: base64url(own) } };
      return signed(JSON.stringify(header), payload(report, id), "sha256", own.toString("latin1"));
    },
    NOT_SIGNED,
  ],
  [
    "its own key beside the right signature",
    headed({ alg: "HS256", typ: TYP, jwk: { kty: "oct", k: "AAAA" } }),
    NOT_HEADER,
  ],
  ["a key id that is a path", headed({ alg: "HS256", typ: TYP, kid: "../canary.md" }), NOT_HEADER],
  ["a key's address", headed({ alg: "HS256", typ: TYP, jku: "http://127.0.0.1:9/keys" }), NOT_HEADER],
  ["a compressed payload", headed({ alg: "HS256", typ: TYP, zip: "DEF" }), NOT_HEADER],
  ["another content type", headed({ alg: "HS256", typ: TYP, cty: "JWT" }), NOT_HEADER],
];

const times: readonly Attack[] = [
  ["expired a second ago", claiming(() => ({ iat: seconds() - 31, exp: seconds() - 1 })), EXPIRED],
  ["expiring at this second", claiming(() => ({ iat: seconds() - 60, exp: seconds() })), EXPIRED],
  ["expired a year ago", claiming(() => ({ iat: seconds() - 31_536_060, exp: seconds() - 31_536_000 })), EXPIRED],
  [
    "not yet issued",
    claiming(() => ({ iat: seconds() + 30, exp: seconds() + 90 })),
    "must have been issued before now",
  ],
  ["issued a minute and more ago", claiming(() => ({ iat: seconds() - 61, exp: seconds() + 30 })), EXPIRED],
  ["a year ahead", claiming(() => ({ exp: seconds() + 31_536_000 })), LIFE],
  ["61 seconds", claiming(() => ({ iat: seconds() - 1, exp: seconds() + 60 })), LIFE],
  ["no exp", claiming({ exp: undefined }), "must have the claim `exp` of a grant"],
  ["exp null", claiming({ exp: null }), "must have the claim `exp` of a grant"],
  ["exp as text", claiming(() => ({ exp: String(seconds() + 60) })), "must have the claim `exp` of a grant"],
  ["exp in milliseconds", claiming(() => ({ exp: Date.now() + 60_000 })), LIFE],
  ["exp without end", (report, id) => signed(HEADER, payload(report, id).replace(/"exp":\d+/, '"exp":1e999')), LIFE],
  ["no iat", claiming({ iat: undefined }), "must have been issued before now"],
  ["iat as text", claiming(() => ({ iat: String(seconds()) })), "must have been issued before now"],
  [
    "iat without beginning",
    (report, id) => signed(HEADER, payload(report, id).replace(/"iat":\d+/, '"iat":-1e999')),
    EXPIRED,
  ],
  ["not valid before a while", claiming(() => ({ nbf: seconds() + 30 })), "must have the claim `nbf` of a grant"],
];

const purposes: readonly Attack[] = [
  ["another issuer", claiming({ iss: "toolgate2" }), "must have the claim `iss` of a grant"],
  ["no issuer", claiming({ iss: undefined }), "must have the claim `iss` of a grant"],
  ["another audience", claiming({ aud: "documents2" }), "must be for this server"],
  ["no audience", claiming({ aud: undefined }), "must be for this server"],
  ["two audiences", claiming({ aud: ["documents", "docs"] }), "must be for this server alone"],
  ["another scope", claiming({ scope: "other" }), "must be for this scope"],
  ["the scope and more", claiming({ scope: "local other" }), "must be for this scope"],
  ["a list of scopes", claiming({ scope: ["local"] }), "must be for this scope"],
  ["no scope", claiming({ scope: undefined }), "must be for this scope"],
  ["another tool", claiming({ tool: "read_document" }), "must be for this tool"],
  ["every tool", claiming({ tool: "*" }), "must be for this tool"],
  ["no tool", claiming({ tool: undefined }), "must be for this tool"],
  ["another file", (report, id) => grant({ ...report, filename: "other.md" }, id), ARGUMENTS],
  [
    "the file in capitals",
    (report, id) => grant({ ...report, filename: String(report.filename).toUpperCase() }, id),
    ARGUMENTS,
  ],
  ["another content", (report, id) => grant({ ...report, content: "other\n" }, id), ARGUMENTS],
  [
    "the content without its newline",
    (report, id) => grant({ ...report, content: String(report.content).trimEnd() }, id),
    ARGUMENTS,
  ],
  [
    "the same letters in another normal form",
    (report, id) => grant({ ...report, content: String(report.content).normalize("NFD") }, id),
    ARGUMENTS,
  ],
  [
    "a part of the digest",
    (report, id) => grant(report, id, { argumentsDigest: digestOf(report).slice(0, 32) }),
    ARGUMENTS,
  ],
  [
    "a digest in capitals",
    (report, id) => grant(report, id, { argumentsDigest: digestOf(report).toUpperCase() }),
    ARGUMENTS,
  ],
  ["an empty digest", claiming({ argumentsDigest: "" }), ARGUMENTS],
  ["no digest", claiming({ argumentsDigest: undefined }), ARGUMENTS],
  ["no thread", claiming({ thread: undefined }), CLAIMS],
  ["no digest of the tool", claiming({ toolDigest: undefined }), CLAIMS],
  ["no word about who said yes", claiming({ approver: undefined }), CLAIMS],
  ["an approver that is no text", claiming({ approver: { name: "ada" } }), CLAIMS],
];

const claims: readonly Attack[] = [
  ["a list of claims", (report, id) => signed(HEADER, `[${payload(report, id)}]`), NOT_SIGNED],
  ["no JSON", () => signed(HEADER, "yes"), NOT_SIGNED],
  ["nothing", () => signed(HEADER, ""), NOT_SIGNED],
  ["null", () => signed(HEADER, "null"), NOT_SIGNED],
  [
    "claims below `__proto__`",
    (report, id) => signed(HEADER, `{"__proto__":${payload(report, id)}}`),
    "must have the claim `iss` of a grant",
  ],
  [
    "another digest, said last",
    (report, id) => signed(HEADER, payload(report, id).replace(/}$/, `,"argumentsDigest":"${"0".repeat(64)}"}`)),
    ARGUMENTS,
  ],
  [
    "another scope, said last",
    (report, id) => signed(HEADER, payload(report, id).replace(/}$/, ',"scope":"other"}')),
    "must be for this scope",
  ],
  [
    "a later end, said last",
    (report, id) => signed(HEADER, payload(report, id).replace(/}$/, `,"exp":${seconds() + 9_999}}`)),
    LIFE,
  ],
  ["2,049 characters", (report, id) => ofLength(2_049, report, id), LENGTH],
  ["a hundred thousand characters", (report, id) => ofLength(100_001, report, id), LENGTH],
];

/** An honest grant of exactly that many characters, the thread's id being long. */
export function ofLength(characters: number, report: Report, id: string): string {
  const base = grant(report, id, { thread: "" }).length;
  for (let thread = Math.floor(((characters - base) * 3) / 4) - 3; ; thread++) {
    const token = grant(report, id, { thread: "t".repeat(thread) });
    if (token.length === characters) return token;
    if (token.length > characters) throw new Error(`no grant has ${characters} characters`);
  }
}

/** By what is wrong. */
export const forgeries = { texts, signatures, headers, times, purposes, claims };
