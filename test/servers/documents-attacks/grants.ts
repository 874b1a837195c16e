// Grants made by hand, as docs/grants.md describes them: node:crypto and nothing else, so that a mistake of the host's or
// of a library is not made on both sides.

import { createHash, createHmac, type KeyObject, randomBytes } from "node:crypto";

/** Begins with a word that no answer, log or error text may hold. */
export const SECRET = "canary-secret-0123456789-0123456789";
export const HEADER = '{"alg":"HS256","typ":"toolgate-grant+jwt"}';

export interface Report {
  readonly filename: unknown;
  readonly content: unknown;
}

export const newId = (): string => randomBytes(32).toString("hex");
export const seconds = (): number => Math.floor(Date.now() / 1_000);
export const base64url = (data: string | Uint8Array): string => Buffer.from(data).toString("base64url");

/** For two strings this is their canonical JSON; for anything else it is what an attacker would try. */
export function digestOf({ content, filename }: Report): string {
  return createHash("sha256").update(JSON.stringify({ content, filename })).digest("hex");
}

export function claimsOf(report: Report, id: string) {
  const iat = seconds();
  return {
    iss: "toolgate",
    aud: "documents",
    jti: id,
    iat,
    exp: iat + 60,
    scope: "local",
    thread: "thread-1",
    tool: "save_report",
    toolDigest: "d".repeat(64),
    argumentsDigest: digestOf(report),
    approver: "ada" as string | null,
  };
}

/** Header and payload as they are written, under an HMAC. */
export function signed(header: string, payload: string, hash = "sha256", key: string | KeyObject = SECRET): string {
  const text = `${base64url(header)}.${base64url(payload)}`;
  return `${text}.${createHmac(hash, key).update(text).digest("base64url")}`;
}

/** An honest grant; `undefined` as a claim leaves it out. */
export function grant(report: Report, id: string, changes: object = {}): string {
  return signed(HEADER, JSON.stringify({ ...claimsOf(report, id), ...changes }));
}

/** A report and its arguments under an honest grant for exactly that. */
export function approved(report: Report, id = newId()): Record<string, unknown> {
  return { ...report, approval_token: grant(report, id), operation_id: id };
}
