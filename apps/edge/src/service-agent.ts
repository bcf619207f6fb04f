import { Agent, type ClientRequestArgs } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';

/** A service in the same network answers at once or is not there. */
const CONNECT_TIMEOUT_MS = 2000;
/**
 * How long an idle connection is kept. A service that closes earlier says so (`Keep-Alive: timeout=5`), and Node's
 * agent then lets go a second before, so that no request is written to a connection that is being closed.
 */
const IDLE_MS = 30_000;
const MOST_IDLE_CONNECTIONS = 1024;

/**
 * Connections to the services, kept and reused. A request gets its connection only once that is established: until
 * then nothing of its body has been read, and it can go to another address instead.
 */
export class ServiceAgent extends Agent {
  constructor() {
    super({ keepAlive: true, maxFreeSockets: MOST_IDLE_CONNECTIONS, timeout: IDLE_MS });
  }

  override createConnection(
    { host, port }: ClientRequestArgs,
    done: (error: Error | null, socket: Duplex) => void = () => undefined,
  ): undefined {
    const socket = connect({ host: host ?? '127.0.0.1', port: Number(port), noDelay: true, keepAlive: true });
    const timer = setTimeout(() => socket.destroy(new Error('connecting took too long')), CONNECT_TIMEOUT_MS);
    const fail = (error: Error) => {
      clearTimeout(timer);
      done(error, socket);
    };
    socket.once('error', fail);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.removeListener('error', fail);
      done(null, socket);
    });
  }
}
