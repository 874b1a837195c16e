// A proxy before Postgres that loses one answer: at the statement it waits for, the connection is cut, either before the
// server has it or after the server has committed it.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** `ReadyForQuery`, idle: the transaction is over (postgresql.org/docs, "Message Formats"). */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

export interface Proxy {
  /** The connection string through it. */
  readonly url: string;
  /** Cuts the next connection that sends a text. */
  cutAt(text: string, when: "unsent" | "committed"): void;
  /** Connections that were cut. */
  readonly cuts: number;
  close(): Promise<void>;
}

export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let armed: { text: string; when: "unsent" | "committed" } | undefined;
  let cuts = 0;
  const server = createServer((host) => {
    const database = connect(Number(port || 5432), hostname);
    for (const socket of [host, database]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    }
    const cut = () => {
      cuts += 1;
      host.destroy();
      database.destroy();
    };
    let asked = ""; // the end of what was asked: a text may come in two parts
    let swallowed: Buffer | undefined;
    host.on("data", (chunk) => {
      asked = (asked + chunk.toString("latin1")).slice(-100_000);
      const here = armed !== undefined && asked.includes(armed.text) ? armed.when : undefined;
      if (here !== undefined) armed = undefined;
      if (here === "unsent") return cut();
      if (here === "committed") swallowed = Buffer.alloc(0);
      database.write(chunk);
    });
    database.on("data", (chunk) => {
      if (swallowed === undefined) return host.write(chunk);
      swallowed = Buffer.concat([swallowed, chunk]);
      if (swallowed.subarray(-READY.length).equals(READY)) cut();
      return true;
    });
    host.on("end", () => database.end());
    database.on("end", () => host.end());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    cutAt: (text, when) => {
      armed = { text, when };
    },
    get cuts() {
      return cuts;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
