// The parts that read what a server sends: their result does not depend on how the bytes are cut, and their memory is bounded.

import type { Transport } from "@modelcontextprotocol/client";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refusesToken } from "../../src/adapters/mcp/challenge.js";
import { watchEvents } from "../../src/adapters/mcp/event-stream.js";
import { LineReader } from "../../src/adapters/mcp/lines.js";
import { jsonBytes } from "../../src/adapters/mcp/measure.js";
import { networkFailure } from "../../src/adapters/mcp/network.js";
import { Observer } from "../../src/adapters/mcp/observed-transport.js";
import { NothingSent, PendingRequest } from "../../src/adapters/mcp/pending-request.js";
import { Rate } from "../../src/adapters/mcp/rate.js";
import { Ring } from "../../src/adapters/mcp/ring.js";
import { TopLevel } from "../../src/adapters/mcp/toplevel.js";

/** Cuts bytes at the given places. */
function chunks(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const out: Buffer[] = [];
  let from = 0;
  for (const size of sizes) {
    out.push(bytes.subarray(from, from + size));
    from += size;
  }
  return [...out, bytes.subarray(from)];
}
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 60 });

describe("lines", () => {
  function read(parts: readonly Buffer[], limit = 1_000_000) {
    const seen: unknown[] = [];
    const reader = new LineReader({
      limitBytes: () => limit,
      onMessage: (message) => seen.push(message),
      onOversize: (id, bytes) => seen.push({ oversize: id, bytes }),
    });
    for (const part of parts) reader.push(part);
    return { seen, skipped: reader.skipped };
  }

  test("what is no JSON-RPC is skipped and counted (lines-2)", () => {
    const text =
      'Starting...\n[1,2]\nnull\n{"level":"info"}\n\r\n{"jsonrpc":"2.0"}\n{"jsonrpc":"2.0","id":1,"result":{}}\r\n';
    expect(read([Buffer.from(text)])).toEqual({ seen: [{ jsonrpc: "2.0", id: 1, result: {} }], skipped: 5 });
  });

  test("however the bytes are cut, the messages are the same", () => {
    const text = '{"jsonrpc":"2.0","id":"ü","result":{"a":"café 日本 🙂"}}\nnoise\n{"jsonrpc":"2.0","method":"m"}\n';
    fc.assert(
      fc.property(sizes, (cuts) => {
        expect(read(chunks(Buffer.from(text), cuts))).toEqual({
          seen: [
            { jsonrpc: "2.0", id: "ü", result: { a: "café 日本 🙂" } },
            { jsonrpc: "2.0", method: "m" },
          ],
          skipped: 1,
        });
      }),
    );
  });

  test("a line above the limit is dropped by its own id, wherever that stands, and the next line is read (lines-1)", () => {
    const fill = "x".repeat(500);
    const lines = [
      `{"jsonrpc":"2.0","id":7,"result":{"id":1,"text":"${fill}\\"id\\":2"}}`,
      `{"result":{"id":[{"id":3}],"text":"${fill}"},"jsonrpc":"2.0","id":"seven"}`,
      `{"jsonrpc":"2.0","method":"m","id":9,"params":"${fill}"}`,
      fill,
      '{"jsonrpc":"2.0","id":8,"result":1}',
    ];
    fc.assert(
      fc.property(sizes, (cuts) => {
        expect(read(chunks(Buffer.from(`${lines.join("\n")}\n`), cuts), 100)).toEqual({
          seen: [
            { oversize: 7, bytes: 560 },
            { oversize: "seven", bytes: 567 },
            { jsonrpc: "2.0", id: 8, result: 1 },
          ],
          skipped: 2,
        });
      }),
    );
  });

  test("the id found in passing is the id that parsing finds", () => {
    const id = fc.oneof(fc.string({ maxLength: 20 }), fc.integer());
    fc.assert(
      fc.property(fc.jsonValue(), id, fc.boolean(), (result, id, first) => {
        const text = JSON.stringify(first ? { id, result } : { result, id });
        const passing = new TopLevel();
        passing.push(Buffer.from(text));
        expect(passing.id).toBe(JSON.parse(text).id);
        expect(passing.hasMethod).toBe(false);
      }),
    );
  });
});

describe("a 401 that refuses the token (RFC 6750)", () => {
  test.each([
    ['Bearer error="invalid_token"', true],
    ["bearer error=invalid_token", true],
    ['Bearer realm="a, b", error="invalid_token", error_description="expired"', true],
    ['Basic realm="x", Bearer realm="y", error="invalid\\_token"', true],
    ["Negotiate abc==, Bearer error=invalid_token", true],
    ['Digest realm="x", nonce="y",, Bearer error="invalid_token" ,', true],
    // What only looks like a Bearer challenge.
    ['Negotiate Bearer, error="invalid_token"', false],
    ['Basic bearer, error="invalid_token"', false],
    ['Basic Bearer error="invalid_token"', false],
    ['Bearer error="invalid_token", error="insufficient_scope"', false],
    ['Bearer error="invalid_token" Bearer error="x"', false],
    ['error="invalid_token"', false],
    ["Bearer", false],
    ['Bearer resource_metadata="https://example.org/.well-known/oauth-protected-resource"', false],
    ['Bearer error="insufficient_scope"', false],
    ['Basic realm="Bearer error=invalid_token"', false],
    ['Basic error="invalid_token"', false],
    ['Bearer realm="y", Basic error="invalid_token"', false],
    ['Bearer realm="unclosed, error="invalid_token', false],
    ['Bearer error_uri="x error=invalid_token"', false],
    ["", false],
    [null, false],
  ])("%j: %j", (header, refused) => {
    expect(refusesToken(header)).toBe(refused);
  });

  test("any text at all has an answer, in time that grows with its length", () => {
    fc.assert(fc.property(fc.string({ maxLength: 200 }), (text) => typeof refusesToken(text) === "boolean"));
    expect(refusesToken(`Bearer ${'a="\\'.repeat(20_000)}`)).toBe(false);
  });
});

describe("event streams", () => {
  async function pass(parts: readonly Buffer[], limit = 1_000_000) {
    const seen: unknown[] = [];
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const part of parts) controller.enqueue(part);
        controller.close();
      },
    });
    const out = watchEvents(body, {
      limitBytes: () => limit,
      onData: (value) => {
        seen.push(value);
        return (value as { mine?: boolean }).mine === true ? { instead: true } : value;
      },
      onId: () => seen.push("id"),
      onOversize: (bytes) => seen.push({ oversize: bytes > limit }),
      onEnd: (error) => seen.push(error === undefined ? "end" : "broken"),
    });
    const text = await new Response(out).text().catch((error: Error) => error.message);
    return { text, seen };
  }

  test("events pass as they are, however cut; one that is claimed is replaced (events-2)", async () => {
    const before = ': hello\n\nid: 1\nevent: message\r\ndata: {"a":\r\ndata: "é🙂"}\r\n\r\n';
    const mine = 'id: 2\ndata: {"mine":true}\n\n';
    const after = "data: no json\n\n";
    await fc.assert(
      fc.asyncProperty(sizes, async (cuts) => {
        expect(await pass(chunks(Buffer.from(before + mine + after), cuts))).toEqual({
          text: `${before}id: 2\ndata: {"instead":true}\n\n${after}`,
          seen: ["id", { a: "é🙂" }, "id", { mine: true }, "end"],
        });
      }),
      { numRuns: 50 },
    );
  });

  test("one event above the limit ends the stream; many small ones do not (events-1)", async () => {
    const small = Array.from({ length: 50 }, () => Buffer.from("data: 1\n\n"));
    expect((await pass(small, 20)).seen.at(-1)).toBe("end");
    const big = [Buffer.from(`data: "${"x".repeat(30)}`), Buffer.from('"\n\n')];
    expect(await pass(big, 20)).toEqual({ text: "an event above the size limit", seen: [{ oversize: true }] });
  });
});

describe("an observed transport", () => {
  /** A transport that a client has taken already. */
  function taken(send: (message: unknown) => Promise<void> = () => Promise.resolve()) {
    const handed: unknown[] = [];
    const sent: unknown[] = [];
    let closed = 0;
    const transport: Transport = {
      start: () => Promise.resolve(),
      close: () => Promise.resolve(),
      send: (message) => {
        sent.push(message);
        return send(message);
      },
      onmessage: (message) => handed.push(message),
      onclose: () => {
        closed += 1;
      },
    };
    const observer = new Observer({ onListChanged: () => {}, onClose: () => "gone", onFlood: () => {} });
    observer.attach(transport, { posts: false });
    return { transport, observer, handed, sent, closed: () => closed };
  }
  const request = (id: number) => ({ jsonrpc: "2.0" as const, id, method: "tools/call", params: {} });
  const facts = (pending: PendingRequest) => pending.evidence(pending.end ?? "deadline", (text) => text);

  test("a second send of one call is refused and seen; the first one is answered (observe-1)", async () => {
    const { transport, observer, sent } = taken();
    const pending = new PendingRequest(1_000, () => true);
    await observer.run(pending, () => transport.send(request(1)));
    await expect(observer.run(pending, () => transport.send(request(2)))).rejects.toThrow("second send");
    transport.onmessage?.({ jsonrpc: "2.0", id: 1, result: { content: [] } });
    expect(sent).toEqual([request(1)]);
    expect(facts(pending)).toEqual({
      attempted: true,
      refused: false,
      how: "response",
      response: { result: { content: [] } },
      bytes: 14,
      detail: "a second send of this request was refused",
    });
  });

  test("the client is handed one empty answer, also by a handler that was set before (observe-2) (observe-5)", async () => {
    const { transport, observer, handed } = taken();
    const pending = new PendingRequest(1_000, () => true);
    await observer.run(pending, () => transport.send(request(1)));
    transport.onmessage?.({ jsonrpc: "2.0", id: 1, error: { code: -32020, message: "again" } });
    transport.onmessage?.({ jsonrpc: "2.0", id: 1, result: { second: true } });
    expect(handed).toEqual([{ jsonrpc: "2.0", id: 1, result: { resultType: "complete", content: [], tools: [] } }]);
    expect(facts(pending).response).toEqual({ error: { code: -32020, message: "again" } });
  });

  // The SDK compares ids as numbers, and took an answer under the text "1" for that of the request 1.
  test.each(["1", " 1 ", "0x1", true, [1], 1.0])(
    "an answer under the id %j belongs to request 1 only if it is that very id (observe-4)",
    async (id) => {
      const { transport, observer, handed } = taken();
      const pending = new PendingRequest(1_000, () => true);
      await observer.run(pending, () => transport.send(request(1)));
      transport.onmessage?.({ jsonrpc: "2.0", id, result: { content: [] } } as never);
      expect([facts(pending).response, handed.length]).toEqual(
        id === 1 ? [{ result: { content: [] } }, 1] : [undefined, 0],
      );
      transport.onmessage?.({ jsonrpc: "2.0", id: "other", result: {} });
      expect(handed).toHaveLength(id === 1 ? 1 : 0);
    },
  );

  test.each([
    [{ result: { content: [] }, error: { code: 1, message: "no" } }],
    [{ error: "no" }],
    [{ error: { code: "1", message: "no" } }],
    [{ error: { code: 1 } }],
    [{ error: [] }],
    [{ error: null }],
    [{}],
  ])("%j is neither a result nor an error", async (answer) => {
    const { transport, observer } = taken();
    const pending = new PendingRequest(1_000, () => true);
    await observer.run(pending, () => transport.send(request(1)));
    transport.onmessage?.({ jsonrpc: "2.0", id: 1, ...answer } as never);
    expect(facts(pending).response).toEqual({ result: undefined });
  });

  test("`maySend` is asked in the tick of the send, and once (observe-3)", async () => {
    const order: string[] = [];
    const { transport, observer } = taken(async () => {
      order.push("send");
    });
    const maySend = () => {
      order.push("asked");
      queueMicrotask(() => order.push("next tick"));
      return true;
    };
    await observer.run(new PendingRequest(1_000, maySend), () => transport.send(request(1)));
    expect(order).toEqual(["asked", "send", "next tick"]);
  });

  test("a sender that is certain that nothing left makes no attempt; a failed one does", async () => {
    for (const [error, attempted] of [
      [new NothingSent("gone"), false],
      [new Error("EPIPE"), true],
    ] as const) {
      const { transport, observer } = taken(() => Promise.reject(error));
      const pending = new PendingRequest(1_000, () => true);
      await expect(observer.run(pending, () => transport.send(request(1)))).rejects.toThrow(error.message);
      expect(pending.attempted).toBe(attempted);
    }
  });

  test("a close ends the pending request, with its reason, and is passed on", async () => {
    const { transport, observer, closed } = taken();
    const pending = new PendingRequest(1_000, () => true);
    await observer.run(pending, () => transport.send(request(1)));
    transport.onclose?.();
    expect(facts(pending)).toEqual({ attempted: true, refused: false, how: "closed", detail: "gone" });
    expect(closed()).toBe(1);
  });

  test("what is no call of ours passes untouched, also while a call is pending", async () => {
    const { transport, observer, sent, handed } = taken();
    const pending = new PendingRequest(1_000, () => true);
    const ping = { jsonrpc: "2.0" as const, id: 5, method: "ping" };
    await observer.run(pending, () => transport.send(ping));
    transport.onmessage?.({ jsonrpc: "2.0", id: 5, result: { pong: 1 } });
    expect(sent).toEqual([ping]);
    expect(handed).toEqual([{ jsonrpc: "2.0", id: 5, result: { pong: 1 } }]);
    expect(pending.attempted).toBe(false);
  });
});

test("JSON bytes are those of the compact text, at any depth", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(jsonBytes(value)).toBe(Buffer.byteLength(JSON.stringify(value)));
    }),
  );
  expect(jsonBytes(JSON.parse("[".repeat(50_000) + "]".repeat(50_000)))).toBe(100_000);
  expect(jsonBytes(JSON.parse(`${'{"ü":["a",1,'.repeat(9_000)}null${"]}".repeat(9_000)}`))).toBe(9_000 * 15 + 4);
  expect(jsonBytes(undefined)).toBe(0);
});

describe("network failures", () => {
  const fetchFailed = (cause: object) => new TypeError("fetch failed", { cause });
  test.each([
    ["a refused connection", { code: "ECONNREFUSED", syscall: "connect" }],
    ["an unknown name", { code: "ENOTFOUND", syscall: "getaddrinfo" }],
    ["a name server that is down", { code: "EAI_AGAIN", syscall: "getaddrinfo" }],
    ["an unreachable host", { code: "EHOSTUNREACH", syscall: "connect" }],
    ["a connection that took too long", { code: "UND_ERR_CONNECT_TIMEOUT" }],
    ["a certificate nobody vouches for", { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }],
    ["a certificate of another name", { code: "ERR_TLS_CERT_ALTNAME_INVALID" }],
    ["all addresses refused", { code: "ECONNREFUSED", errors: [{ syscall: "connect" }, { syscall: "connect" }] }],
  ])("%s reached nobody", (_, cause) => {
    expect(networkFailure(fetchFailed(cause)).refused).toBe(true);
  });

  test.each([
    ["a reset", { code: "ECONNRESET", syscall: "read" }],
    ["a closed socket", { code: "UND_ERR_SOCKET" }],
    ["a host that became unreachable while writing", { code: "EHOSTUNREACH", syscall: "write" }],
    ["an answer that took too long", { code: "UND_ERR_HEADERS_TIMEOUT" }],
    ["one of two addresses that was reached", { errors: [{ syscall: "connect" }, { code: "ECONNRESET" }] }],
    ["words alone", { message: "connect ECONNREFUSED" }],
  ])("%s proves nothing", (_, cause) => {
    expect(networkFailure(fetchFailed(cause)).refused).toBe(false);
  });

  test("no facts prove nothing", () => {
    expect(networkFailure(undefined)).toEqual({ code: undefined, refused: false });
    expect(networkFailure(new TypeError("fetch failed")).refused).toBe(false);
  });
});

describe("stderr", () => {
  test("what was cut is shown from its first whole line on (stderr-1)", () => {
    const ring = new Ring();
    ring.push(Buffer.from(`secret-${"s".repeat(9_000)}\nlast words\n\n`));
    expect(ring.lastLines(3)).toBe("last words");
    ring.push(Buffer.from("x".repeat(9_000)));
    expect(ring.lastLines(3)).toBe("");
  });

  test("a flood keeps its end", () => {
    const ring = new Ring();
    for (let i = 0; i < 200; i++) ring.push(Buffer.from(`${"x".repeat(99_999)}\n`));
    ring.push(Buffer.from("end\n"));
    expect(ring.lastLines(1)).toBe("end");
  });
});

test("what is limited is counted in a sliding window, and a refusal says how long to wait (pool-2)", () => {
  let now = 0;
  const starts = new Rate(() => now, 2, 1_000);
  expect(starts.take()).toEqual({ ok: true });
  now = 400;
  expect(starts.take()).toEqual({ ok: true });
  now = 900;
  expect(starts.take()).toEqual({ ok: false, waitMs: 100 });
  now = 1_000;
  expect(starts.take()).toEqual({ ok: true });
  expect(starts.take()).toEqual({ ok: false, waitMs: 400 });
});
