import { startRedis } from '@gateway/testkit/start-redis';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { type RunningEdge, runEdge } from './run-edge.ts';
import { type StandInService, startStandInService } from './stand-in-service.ts';

/** An edge, and the two replicas at the addresses that it has got. */
export interface TwoReplicas {
  readonly redisUrl: string;
  readonly one: StandInService;
  readonly other: StandInService;
  readonly edge: RunningEdge;
}

interface TwoReplicasOptions {
  /** The edge's settings, given the addresses of both, separated by a comma. */
  readonly settings: (urls: string) => Record<string, string> | Promise<Record<string, string>>;
  /** Whether both report that they are ready, before the edge starts. */
  readonly ready?: boolean;
}

/** Gives `use` what each test of a file has again. The tests of a file share a Redis. */
export function withTwoReplicas(
  { settings, ready = false }: TwoReplicasOptions,
  use: (running: TwoReplicas) => void | Promise<void>,
): void {
  let redis: Awaited<ReturnType<typeof startRedis>>;
  let running: TwoReplicas;
  beforeAll(async () => {
    redis = await startRedis();
  });
  beforeEach(async () => {
    const [one, other] = await Promise.all([startStandInService(), startStandInService()]);
    if (ready) for (const service of [one, other]) service.report('ok');
    const edge = await runEdge({ REDIS_URL: redis.url, ...(await settings(`${one.url},${other.url}`)) });
    running = { redisUrl: redis.url, one, other, edge };
    await use(running);
  });
  afterEach(async () => {
    await running.edge.stop();
    await Promise.all([running.one.close(), running.other.close()]);
  });
  afterAll(() => redis.close());
}
