import { once } from 'node:events';
import { connect } from 'node:net';
import { ensureRedisServer } from '@gateway/redis-server/ensure-redis-server';
import { type RedisServer, runRedisServer } from '@gateway/redis-server/run-redis-server';
import { temporaryFolder } from './temporary-folder.ts';

export interface TestRedis extends RedisServer {
  /** Stops the server and removes its files. */
  close(): Promise<void>;
}

/**
 * A real Redis of the test's own: empty, without persistence, ended with the test process. About 50 ms; start one per file. It counts
 * as one that has all that the database knows of keys and of what was spent, which is nothing.
 * @param port to bring a server back where an earlier one was; a free one if left out.
 * @param keepIn a folder of the test's own in which the server keeps its data, to be started again with it.
 * @param lines further lines of its configuration.
 */
export async function startRedis({
  port,
  keepIn,
  lines = [],
  isSentinel = false,
}: {
  port?: number;
  keepIn?: string;
  lines?: readonly string[];
  isSentinel?: boolean;
} = {}): Promise<TestRedis> {
  const { command } = await ensureRedisServer(() => undefined);
  const folder = await temporaryFolder();
  const server = await runRedisServer({
    command,
    folder: keepIn ?? folder.path,
    durability: keepIn === undefined ? 'none' : 'append-only',
    lines,
    isSentinel,
    ...(port === undefined ? {} : { port }),
  });
  await send(server.port, 'SET gateway:{meter}:epoch of-tests NX');
  const close = async () => {
    await server.stop();
    await folder.close();
  };
  return { ...server, close };
}

/** Sends one command without an answer that matters. */
async function send(port: number, command: string): Promise<void> {
  const socket = connect(port, '127.0.0.1', () => socket.write(`${command}\r\n`));
  await once(socket, 'data');
  socket.destroy();
}
