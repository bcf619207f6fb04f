import { isIPv6 } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import { isOver, type ServiceAddress } from './service-pool.ts';

/** A service in the same network answers at once or is not there. */
const CONNECT_TIMEOUT_MS = 2000;
/**
 * How long an idle connection is kept. A service that closes earlier announces it (`Keep-Alive: timeout=5`), and undici
 * then closes a second before, so that no request is written to a connection that is being closed.
 */
const IDLE_MS = 30_000;
const MAX_IDLE_PER_ADDRESS = 1024;

/** undici also sends the chunks of an iterable; only its types lack that. */
export type ServiceSending = Omit<Dispatcher.DispatchOptions, 'body'> & {
  readonly body: Buffer | AsyncIterable<Buffer> | null;
};

/** One connection to a service, for one request at a time. undici opens it, also again, when a request needs it. */
export interface ServiceConnection {
  /** The handler's `onRequestStart` is called once the connection is established: nothing of an iterable body was read before. */
  dispatch(sending: ServiceSending, handler: Dispatcher.DispatchHandler): void;
  /** To be called when a request starts: whether the connection carried another request before this one. */
  begin(): boolean;
  /** To be called when a request is over. A connection whose request failed is not used again. */
  release(state: 'kept' | 'failed'): void;
}

/** Connections to the services, kept and reused, the one that was used last first. */
export interface ServiceConnections {
  take(address: ServiceAddress): ServiceConnection;
  /** Closes the idle connections of an address that is to get no more requests; those in use close when they are released. */
  retire(address: ServiceAddress): void;
  close(): void;
}

interface Connection extends ServiceConnection {
  readonly client: Client;
}

export function createServiceConnections(): ServiceConnections {
  const idle = new WeakMap<ServiceAddress, Connection[]>();
  const all = new Set<Client>();

  const open = (address: ServiceAddress, waiting: Connection[]): Connection => {
    const client = new Client(originOf(address), {
      allowH2: false,
      // The forwarder has its own time limits, one check for all requests.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      connect: { timeout: CONNECT_TIMEOUT_MS },
    });
    all.add(client);
    let begun = 0;
    const remove = () => {
      if (!all.delete(client)) return;
      // Not destroyed: undici may be in the middle of ending the request that failed.
      void client.close();
    };
    const connection: Connection = {
      client,
      dispatch: (sending, handler) => void client.dispatch(sending as Dispatcher.DispatchOptions, handler),
      begin: () => {
        begun += 1;
        return begun > 1;
      },
      release: (state) => {
        if (state === 'failed' || isOver(address) || waiting.length >= MAX_IDLE_PER_ADDRESS) remove();
        else waiting.push(connection);
      },
    };
    client.on('disconnect', () => {
      begun = 0;
      const at = waiting.indexOf(connection);
      if (at === -1) return;
      waiting.splice(at, 1);
      remove();
    });
    return connection;
  };

  return {
    take: (address) => {
      let waiting = idle.get(address);
      if (waiting === undefined) {
        waiting = [];
        idle.set(address, waiting);
      }
      return waiting.pop() ?? open(address, waiting);
    },
    retire: (address) => {
      for (const { client } of idle.get(address)?.splice(0) ?? []) {
        all.delete(client);
        void client.close();
      }
    },
    close: () => {
      const clients = [...all];
      all.clear();
      for (const client of clients) void client.destroy();
    },
  };
}

const originOf = ({ host, port }: ServiceAddress): string =>
  `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
