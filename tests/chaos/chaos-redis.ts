import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ensureRedisServer } from '@gateway/redis-server/ensure-redis-server';
import { type RedisServer, runRedisServer } from '@gateway/redis-server/run-redis-server';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { Redis } from 'ioredis';

/** A Redis that keeps its data as the gateway's own does, and that can be mistreated. */
export interface ChaosRedis {
  readonly url: string;
  /** Ends in order and is started again. */
  restart(): Promise<void>;
  /** Is killed and started again. */
  crash(): Promise<void>;
  /** Forgets everything. */
  empty(): Promise<void>;
  /** Is killed, and comes back with what it had so many milliseconds before. */
  lose(lostMs: number): Promise<void>;
  freeze(forMs: number): Promise<void>;
  /** Refuses to store more. */
  fill(forMs: number): Promise<void>;
  close(): Promise<void>;
}

export async function startChaosRedis(): Promise<ChaosRedis> {
  const folder = await temporaryFolder();
  const { command } = await ensureRedisServer(() => undefined);
  const run = (port?: number): Promise<RedisServer> =>
    runRedisServer({
      command,
      folder: folder.path,
      durability: 'append-only',
      ...(port === undefined ? {} : { port }),
    });
  let server = await run();
  const { port, url } = server;

  const configure = async (name: string, value: string): Promise<void> => {
    const redis = new Redis(url);
    await redis.config('SET', name, value);
    await redis.quit();
  };
  /** The file that takes what is written since the last rewrite. */
  const newestLog = async (): Promise<string> => {
    const files = await readdir(join(folder.path, 'appendonlydir'));
    const newest = files
      .filter((name) => name.endsWith('.incr.aof'))
      .sort()
      .at(-1);
    if (newest === undefined) throw new Error(`no append-only file in ${files}`);
    return join(folder.path, 'appendonlydir', newest);
  };
  const kill = async (): Promise<void> => {
    server.kill('SIGKILL');
    await server.ended;
  };
  const start = async (): Promise<void> => {
    server = await run(port);
  };
  return {
    url,
    restart: async () => {
      await server.stop();
      await start();
    },
    crash: async () => {
      await kill();
      await start();
    },
    empty: async () => {
      const redis = new Redis(url);
      await redis.flushall();
      await redis.quit();
    },
    lose: async (lostMs) => {
      const path = await newestLog();
      const { size } = await stat(path);
      await delay(lostMs);
      await kill();
      if ((await newestLog()) === path) await truncate(path, size);
      await start();
    },
    freeze: async (forMs) => {
      server.kill('SIGSTOP');
      await delay(forMs);
      server.kill('SIGCONT');
    },
    fill: async (forMs) => {
      await configure('maxmemory', '1');
      await delay(forMs);
      await configure('maxmemory', '0');
    },
    close: async () => {
      await server.stop();
      await folder.close();
    },
  };
}
