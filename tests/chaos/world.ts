import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RecordedRequest } from '@gateway/simulator/requests/recorded-request';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { type Stack, startStack } from '@gateway/stack/start-stack';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { startChaosRedis } from './chaos-redis.ts';
import { chaosConfiguration, unusableConfiguration } from './configuration.ts';
import type { Disturbance } from './disturbances.ts';
import { answerTo, FAULTS, faultOf, MARK, type ProviderName, type Stage, stageOf } from './faults.ts';
import { type HoldingsByName, holdingsOf } from './holdings.ts';
import { realtimeProvider } from './realtime-provider.ts';
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts';

/** A request that a provider got, and what became of it. */
export interface Attempted {
  readonly provider: ProviderName;
  readonly mark: string;
  readonly path: string;
  /** By its name. */
  readonly fault: string;
  readonly stage: Stage;
  readonly isComplete: boolean;
  /** Null: it refused. */
  readonly used: { readonly inputTokens: number; readonly outputTokens: number } | null;
}

/** Something that happened to the gateway, in `performance.now()`: from its begin until all processes serve again. */
export interface Happened {
  readonly disturbance: Disturbance;
  readonly beganAt: number;
  readonly endedAt: number;
}

export interface World {
  readonly stack: Stack;
  readonly referenceUrl: string;
  readonly webhooks: WebhookReceiver;
  readonly dataFolder: string;
  readonly attempted: readonly Attempted[];
  /** Requests at a provider whose reply is not over. */
  readonly unanswered: () => number;
  readonly lines: readonly { readonly process: string; readonly text: string }[];
  /** What became of the processes, in words. */
  readonly events: readonly string[];
  /** Does it, and resolves when the gateway has recovered. */
  disturb(disturbance: Disturbance): Promise<Happened>;
  /** Resolves when every process serves. */
  serving(): Promise<void>;
  /** What each process held before its first request. */
  readonly heldAtStart: HoldingsByName;
  /** Forgets what providers and processes have reported. */
  forget(): void;
  close(): Promise<void>;
}

const TWICE = {
  edge: 2,
  text: 2,
  'text-worker': 2,
  image: 2,
  'image-worker': 2,
  audio: 2,
  'audio-worker': 2,
};
const COLLECTS_GARBAGE = new URL('../support/collect-garbage.ts', import.meta.url).href;
const RECOVERY = { timeoutMs: 120_000 };

/** Two of every process, three providers that follow the seed's faults, and one that never fails. */
export async function startWorld(seed: number): Promise<World> {
  const resources = new AsyncDisposableStack();
  try {
    return await start(seed, resources);
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}

async function start(seed: number, resources: AsyncDisposableStack): Promise<World> {
  const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
  const attempted: Attempted[] = [];
  const lines: { process: string; text: string }[] = [];
  const events: string[] = [];
  let begun = 0;
  let over = 0;
  const startProvider = (provider: ProviderName): Promise<Simulator> =>
    startSimulator({
      records: false,
      behave: (request) => {
        begun += 1;
        const mark = markOf(request);
        return mark === ''
          ? undefined
          : { text: answerTo(seed, mark), ...FAULTS[faultOf(seed, mark, provider)].reply };
      },
      onServed: ({ request, used, isComplete }) => {
        over += 1;
        const mark = markOf(request);
        if (mark === '') return;
        const { inputTokens = 0, outputTokens = 0 } = used ?? {};
        const fault = faultOf(seed, mark, provider);
        attempted.push({
          provider,
          mark,
          path: request.path,
          fault,
          stage: stageOf(fault),
          isComplete,
          used: used && { inputTokens, outputTokens },
        });
      },
      realtime: realtimeProvider(seed, provider, {
        onSession: (closed) => {
          begun += 1;
          void closed.then(() => {
            over += 1;
          });
        },
        onResponse: (response) => void attempted.push(response),
      }),
    });
  const open = async (simulator: Promise<Simulator>) =>
    resources.adopt(await simulator, (owned) => owned.close());
  const providers = {
    first: await open(startProvider('first')),
    second: await open(startProvider('second')),
    last: await open(startProvider('last')),
  };
  const reference = await open(startSimulator({ records: false }));
  const webhooks = resources.adopt(await startWebhookReceiver(), (owned) => owned.close());
  const redis = resources.adopt(await startChaosRedis(), (owned) => owned.close());

  const urls = { first: providers.first.url, second: providers.second.url, last: providers.last.url };
  const configurationPath = join(folder.path, 'gateway.yaml');
  await writeFile(configurationPath, chaosConfiguration(urls, 0));
  const dataFolder = join(folder.path, 'data');
  const stack = resources.adopt(
    await startStack({
      dataDir: dataFolder,
      configurationPath,
      env: {
        REDIS_URL: redis.url,
        // Longer than a provider may take, on a busy machine too.
        DRAIN_TIMEOUT_MS: '30000',
        // A busy machine is no overload.
        MAX_EVENT_LOOP_DELAY_MS: '60000',
        WORKER_CONCURRENCY: '4',
        WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8',
        NODE_OPTIONS: `--max-semi-space-size=4 --import ${COLLECTS_GARBAGE}`,
      },
      mode: 'each',
      replicas: TWICE,
      restarts: true,
      onLines: (process, texts) => {
        for (const text of texts) lines.push({ process, text });
      },
      report: (text) => events.push(text),
    }),
    (owned) => owned.stop(),
  );

  const isServing = async (): Promise<boolean> => {
    const away = await Promise.all(
      stack.processes.map(async ({ name, url }) => {
        if (url === null) return [];
        const status = await fetch(`${url}/readyz`).then(
          (reply) => reply.status,
          () => 'refused',
        );
        return status === 200 ? [] : [`${name} ${status}`];
      }),
    );
    if (away.flat().length > 0) throw new Error(away.flat().join(', '));
    return true;
  };
  const serving = async (): Promise<void> => {
    await waitFor(isServing, { ...RECOVERY, what: 'that every process serves' });
  };
  const restarted = async (name: string, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    const process = stack.process(name);
    const { pid } = process;
    process.kill(signal);
    await waitFor(() => stack.process(name).pid !== pid, { ...RECOVERY, what: `that ${name} runs again` });
  };
  const configure = async (text: string): Promise<void> => {
    await writeFile(configurationPath, text);
    await delay(300);
  };
  const perform = async (what: Disturbance): Promise<void> => {
    switch (what.kind) {
      case 'kill':
        return restarted(what.process, 'SIGKILL');
      case 'stop':
        return restarted(what.process, 'SIGTERM');
      case 'provider-away':
        await providers[what.provider].refuse();
        await delay(what.forMs);
        return providers[what.provider].accept();
      case 'redis-restart':
        return redis.restart();
      case 'redis-crash':
        return redis.crash();
      case 'redis-emptied':
        return redis.empty();
      case 'redis-loses':
        return redis.lose(what.lostMs);
      case 'redis-frozen':
        return redis.freeze(what.forMs);
      case 'redis-full':
        return redis.fill(what.forMs);
      case 'configuration':
        if (!what.isUsable) await configure(unusableConfiguration());
        return configure(chaosConfiguration(urls, what.variant));
    }
  };
  await serving();
  const heldAtStart = await holdingsOf(stack, dataFolder);
  /** What is done to one thing is done one after the other. */
  const queues = new Map<string, Promise<unknown>>();
  const inOrder = async (thing: string, action: () => Promise<void>): Promise<void> => {
    const before = queues.get(thing);
    const own = (before ?? Promise.resolve()).then(action);
    queues.set(thing, own);
    await own;
  };
  return {
    stack,
    referenceUrl: reference.url,
    webhooks,
    dataFolder,
    attempted,
    unanswered: () => begun - over,
    lines,
    events,
    disturb: async (disturbance) => {
      let beganAt = performance.now();
      await inOrder(thingOf(disturbance), async () => {
        beganAt = performance.now();
        await perform(disturbance);
      });
      if (disturbance.kind.startsWith('redis')) await serving();
      return { disturbance, beganAt, endedAt: performance.now() };
    },
    serving,
    heldAtStart,
    forget: () => {
      attempted.length = 0;
      lines.length = 0;
      events.length = 0;
    },
    close: () => resources.disposeAsync(),
  };
}

const thingOf = (disturbance: Disturbance): string => {
  if (disturbance.kind === 'kill' || disturbance.kind === 'stop') return disturbance.process;
  if (disturbance.kind === 'provider-away') return disturbance.provider;
  return disturbance.kind === 'configuration' ? 'configuration' : 'redis';
};

/** The mark of the last turn in a request: what it continues comes before it. */
const markOf = (request: RecordedRequest): string =>
  request.body.toString('latin1').match(MARK)?.at(-1) ?? '';
