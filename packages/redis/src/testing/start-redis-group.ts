import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';

/** A master with replicas, and the sentinels that watch them. */
export interface RedisGroup extends AsyncDisposable {
  /** `redis+sentinel://…`, with all sentinels. */
  readonly url: string;
  /** The first one is the master at the start. */
  readonly nodes: readonly TestRedis[];
  readonly sentinels: readonly TestRedis[];
}

interface GroupOptions {
  readonly replicas?: number;
  /** How many sentinels. More than half of them agree before they make a replica the master. */
  readonly sentinels?: number;
  /** How long a server may be silent before a sentinel takes it for dead. */
  readonly downAfterMs?: number;
  /** Further lines of the configuration of each server. */
  readonly lines?: readonly string[];
  readonly sentinelLines?: readonly string[];
  /** What sentinels call the master's host. */
  readonly host?: string;
}

/** The name of the master at its sentinels. */
export const MASTER = 'main';

/** A master that is asked to end waits for its replicas. */
export function endAtOnce(server: TestRedis): Promise<void> {
  server.kill('SIGKILL');
  return server.close();
}

/** On free ports of 127.0.0.1. Resolves when the sentinels know the replicas and each other. */
export async function startRedisGroup({
  replicas = 1,
  sentinels: count = 3,
  downAfterMs = 1000,
  lines = [],
  sentinelLines = [],
  host = '127.0.0.1',
}: GroupOptions = {}): Promise<RedisGroup> {
  const resources = new AsyncDisposableStack();
  const start = async (options: Parameters<typeof startRedis>[0]) =>
    resources.adopt(await startRedis(options), endAtOnce);
  try {
    const master = await start({ lines });
    const others = await Promise.all(
      Array.from({ length: replicas }, () =>
        start({
          lines: [
            `replicaof 127.0.0.1 ${master.port}`,
            // Else a master waits five seconds for further replicas before it sends its data.
            'repl-diskless-sync-delay 0',
            ...lines,
          ],
        }),
      ),
    );
    const sentinels = await Promise.all(
      Array.from({ length: count }, () =>
        start({
          isSentinel: true,
          lines: [
            ...sentinelLines,
            `sentinel monitor ${MASTER} ${host} ${master.port} ${Math.floor(count / 2) + 1}`,
            `sentinel down-after-milliseconds ${MASTER} ${downAfterMs}`,
            `sentinel failover-timeout ${MASTER} ${3 * downAfterMs}`,
          ],
        }),
      ),
    );
    await Promise.all(sentinels.map((sentinel) => waitFor(() => knowsAll(sentinel, replicas, count - 1))));
    return {
      url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${MASTER}`,
      nodes: [master, ...others],
      sentinels,
      [Symbol.asyncDispose]: () => resources.disposeAsync(),
    };
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}

async function knowsAll({ url }: TestRedis, replicas: number, others: number): Promise<boolean> {
  const redis = new Redis(url, { enableReadyCheck: false });
  try {
    const known = new Map(pairsIn(await redis.call('SENTINEL', 'MASTER', MASTER)));
    return (
      Number(known.get('num-slaves')) === replicas && Number(known.get('num-other-sentinels')) === others
    );
  } finally {
    redis.disconnect();
  }
}

/** A flat list of names and values. */
const pairsIn = (reply: unknown): [string, unknown][] =>
  Array.isArray(reply)
    ? reply.flatMap((name, at) => (at % 2 === 0 ? [[String(name), reply[at + 1]]] : []))
    : [];
