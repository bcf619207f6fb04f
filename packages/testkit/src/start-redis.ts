import { ensureRedisServer } from '@gateway/redis-server/ensure-redis-server';
import { type RedisServer, runRedisServer } from '@gateway/redis-server/run-redis-server';
import { temporaryFolder } from './temporary-folder.ts';

export interface TestRedis extends RedisServer {
  /** Stops the server and removes its files. */
  close(): Promise<void>;
}

/**
 * A real Redis of the test's own: empty, without persistence, ended with the test process. About 50 ms; start one per file.
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
  const close = async () => {
    await server.stop();
    await folder.close();
  };
  return { ...server, close };
}
