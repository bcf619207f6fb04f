import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface TcpBalancer {
  readonly url: string;
  /** The addresses that are ready, as of the last check. */
  readonly ready: readonly string[];
  close(): Promise<void>;
}

/** The health check of every such balancer asks from time to time: nobody tells it of changes. */
const CHECK_MS = 50;

/** A balancer for TCP, as one puts before edges: new connections go in turn to the addresses whose `/readyz` answers 200. */
export async function startTcpBalancer(targets: readonly string[]): Promise<TcpBalancer> {
  let ready: string[] = [];
  let next = 0;
  const sockets = new Set<Socket>();
  const check = async () => {
    const answers = await Promise.all(targets.map(isReady));
    ready = targets.filter((_, index) => answers[index]);
  };
  await check();
  const closing = new AbortController();
  const checking = keepChecking(check, closing.signal);

  const pass = (client: Socket) => {
    next += 1;
    const target = ready[next % ready.length];
    if (target === undefined) return void client.destroy();
    const { port, hostname } = new URL(target);
    const server = connect(Number(port), hostname);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroySoon();
      });
    }
  };
  const balancer = createServer({ noDelay: true }, pass);
  await once(balancer.listen(0, '127.0.0.1'), 'listening');
  const address = balancer.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    get ready() {
      return ready;
    },
    close: async () => {
      closing.abort();
      await checking;
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => balancer.close(resolve));
    },
  };
}

async function isReady(target: string): Promise<boolean> {
  try {
    return (await fetch(`${target}/readyz`, { headers: { connection: 'close' } })).ok;
  } catch {
    return false;
  }
}

async function keepChecking(check: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await check();
    await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
  }
}
