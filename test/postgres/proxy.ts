// A proxy before a Postgres server, that loses what a test tells it to lose: at the bytes, as a network would.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export type Loss = "request" | "answer" | "silence";

export interface PostgresProxy {
  /** The same database, through the proxy. */
  url(of: string): string;
  /**
   * Loses the next message of a client that has this text in it, and the connection with it: before it reaches the server
   * (`request`), or when the server has answered it (`answer`). Or loses its answer and all that follow on the connection,
   * which stays open: `silence`.
   */
  lose(what: Loss, text: string): void;
  /** How many were lost. */
  readonly lost: number;
  close(): Promise<void>;
}

export async function startProxy(server: string): Promise<PostgresProxy> {
  const { hostname, port } = new URL(server);
  const sockets = new Set<Socket>();
  let plan: { readonly what: Loss; readonly text: string } | undefined;
  let lost = 0;
  const listening = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let losing: Loss | undefined;
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", end).on("close", () => {
        sockets.delete(socket);
        end();
      });
    }
    client.on("data", (bytes) => {
      if (plan && bytes.includes(plan.text)) {
        lost += 1;
        losing = plan.what;
        plan = undefined;
        if (losing === "request") return end();
      }
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (losing === "answer") return end(); // it has been done
      if (losing === undefined) client.write(bytes);
    });
  }).listen(0, "127.0.0.1");
  await once(listening, "listening");
  const here = String((listening.address() as AddressInfo).port);
  return {
    url: (of) => {
      const there = new URL(of);
      there.port = here;
      return there.href;
    },
    lose: (what, text) => {
      plan = { what, text };
    },
    get lost() {
      return lost;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      listening.close();
      await once(listening, "close");
    },
  };
}
