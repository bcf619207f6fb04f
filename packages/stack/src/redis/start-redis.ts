import { join } from 'node:path';
import { ensureRedisServer } from '@gateway/redis-server/ensure-redis-server';
import { type RedisServer, RedisServerError, runRedisServer } from '@gateway/redis-server/run-redis-server';
import { processOf, type StackProcess } from '../processes/start-process.ts';
import { type Restarts, type Supervised, supervise } from '../processes/supervise.ts';
import { StartError } from '../start-error.ts';

interface OwnRedisOptions {
  /** The data folder; Redis has `redis/` in it. */
  readonly dataFolder: string;
  readonly password: string;
  readonly signal: AbortSignal;
  readonly restarts: Restarts;
  readonly report: (line: string) => void;
}

/**
 * Runs our own Redis with its data in the data folder; after a crash it is started again on its port.
 * @throws StartError if none is installed, or it does not start.
 */
export async function startRedis(
  options: OwnRedisOptions,
): Promise<{ process: StackProcess; supervised: Supervised<RedisServer> }> {
  const { signal, restarts, report } = options;
  const supervised = await supervise<RedisServer>({
    name: 'redis',
    start: (startSignal, previous) => startServer(options, startSignal, previous),
    signal,
    restarts,
    report,
  });
  const known = { name: 'redis', parts: [], urlVariable: null };
  return { process: processOf(known, supervised, () => null), supervised };
}

async function startServer(
  { dataFolder, password, report }: OwnRedisOptions,
  signal: AbortSignal,
  previous: RedisServer | null,
): Promise<RedisServer> {
  try {
    const { command } = await ensureRedisServer(report);
    signal.throwIfAborted();
    const server = await runRedisServer({
      command,
      folder: join(dataFolder, 'redis'),
      password,
      durability: 'append-only',
      ...(previous ? { port: previous.port } : {}),
    });
    if (signal.aborted) await server.stop();
    signal.throwIfAborted();
    return server;
  } catch (error) {
    if (error instanceof RedisServerError) throw new StartError(error.message);
    throw error;
  }
}
