import { randomBytes } from 'node:crypto';
import { createGate } from '@gateway/simulator/gate';
import type { ScriptedReply } from '@gateway/simulator/script/script-queue';
import { isLongRun } from '@gateway/testkit/is-long-run';
import { startPostgres } from '@gateway/testkit/start-postgres';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { describe, expect, test } from 'vitest';
import { ONE_PROVIDER } from './support/configuration.ts';
import { wavFile } from './support/media-files.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';
import { type LoadTarget, startLoad } from './support/steady-load.ts';
import { startTcpBalancer, type TcpBalancer } from './support/tcp-balancer.ts';

/** Processes are restarted under load, one replica of everything after the other: callers who repeat nothing notice nothing. */

/** Beside the models of every kind, one whose background responses a worker generates: its provider knows none. */
const configuration = (origin: string) => `${ONE_PROVIDER(origin).replace(
  'models:',
  `  messages: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [messages] }\nmodels:`,
)}  background: { kind: text, routes: [{ channel: messages, model: claude-sonnet-5-5 }] }
`;

const env = {
  DRAIN_TIMEOUT_MS: '60000',
  // Longer than balancers take to notice, and callers to use a connection again: on a busy machine their process stands still for seconds.
  DRAIN_DELAY_MS: '4000',
  // Of two held jobs each worker has one.
  WORKER_CONCURRENCY: '1',
  TEXT_WORKER_CONCURRENCY: '1',
};

interface HeldRequest {
  readonly path: string;
  /** `mark` is a text by which the provider finds the request. */
  readonly body: (mark: string) => string | FormData;
  /** Where its provider stops until the gate opens. */
  readonly stall: (opened: Promise<void>) => ScriptedReply;
  /** What stands at the end of a whole reply. */
  readonly end: string;
}

const afterEvents = (resume: Promise<void>): ScriptedReply => ({ stallAfter: 5, resume });

const HELD: readonly HeldRequest[] = [
  {
    path: '/v1/messages',
    body: (mark) =>
      JSON.stringify({
        model: 'claude-sonnet-5-5',
        max_tokens: 99,
        messages: [{ role: 'user', content: mark }],
        stream: true,
      }),
    stall: afterEvents,
    end: 'event: message_stop',
  },
  {
    path: '/v1/audio/speech',
    body: (mark) =>
      JSON.stringify({
        model: 'gpt-4o-mini-tts',
        voice: 'alloy',
        input: mark.repeat(20),
        stream_format: 'sse',
      }),
    stall: afterEvents,
    end: 'speech.audio.done',
  },
  {
    path: '/v1/responses',
    body: (mark) => JSON.stringify({ model: 'background', input: mark, background: true, stream: true }),
    stall: afterEvents,
    end: 'event: response.completed',
  },
  {
    path: '/v1/audio/transcriptions',
    body: (mark) => {
      const form = new FormData();
      form.set('model', 'whisper-1');
      form.set('prompt', mark);
      form.set('file', wavFile(1));
      return form;
    },
    stall: (gate) => ({ gate }),
    end: '"text"',
  },
  {
    path: '/v1/images/generations',
    body: (mark) => JSON.stringify({ model: 'dall-e-3', prompt: mark }),
    stall: (gate) => ({ gate }),
    end: '"url"',
  },
];

/** Two requests of each kind whose provider stops in their middle; `finish` lets it go on, and checks that they are whole. */
async function hold({ simulator }: Gateway, { url, key }: LoadTarget) {
  const gate = createGate();
  const replies = [...HELD, ...HELD].map(async ({ path, body, stall, end }, index) => {
    const mark = `This is held, number ${index}. `;
    simulator.script((request) => request.text().includes(mark), stall(gate.opened));
    const content = body(mark);
    const reply = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        ...(typeof content === 'string' && { 'content-type': 'application/json' }),
      },
      body: content,
    });
    return { status: reply.status, text: await reply.text(), end };
  });
  await waitFor(() => simulator.scriptsWaiting === 0, { what: 'the held requests', timeoutMs: 90_000 });
  return {
    finish: async () => {
      gate.open();
      for (const { status, text, end } of await Promise.all(replies)) {
        expect(status).toBe(200);
        expect(text).toContain(end);
      }
    },
  };
}

/** A process, and the gateway that runs it. */
interface Replica {
  readonly gateway: Gateway;
  readonly name: string;
}

interface Balancers {
  readonly edge: TcpBalancer;
  readonly admin: TcpBalancer;
}

async function balance(edges: readonly string[], admins: readonly string[]) {
  const balancers = { edge: await startTcpBalancer(edges), admin: await startTcpBalancer(admins) };
  const close = async () => {
    await balancers.edge.close();
    await balancers.admin.close();
  };
  return { ...balancers, close };
}

/**
 * Restarts each set of processes under load, while requests of all kinds are held at their provider. In a short run the first one: the
 * second one's restart is the same with the names exchanged.
 */
async function restartInTurn(
  main: Gateway,
  { edge, admin }: Balancers,
  turns: readonly (readonly Replica[])[],
) {
  const target = { url: edge.url, key: main.key, admin: { url: admin.url, token: main.stack.adminToken } };
  const load = startLoad(target, ['json', 'stream', 'job', 'speech', 'transcription', 'background', 'admin']);
  try {
    for (const replicas of isLongRun ? turns : turns.slice(0, 1)) {
      await load.goesOn(1);
      const held = await hold(main, target);
      const restarted = Promise.all(replicas.map(restart));
      await waitFor(() => edge.ready.length === 1 && admin.ready.length === 1, { what: 'the way around' });
      await held.finish();
      await restarted;
      await waitFor(() => edge.ready.length === 2 && admin.ready.length === 2, WAY_BACK);
    }
    await load.goesOn(1);
  } finally {
    await load.stop();
  }
  expect(load.failures).toEqual([]);
}

const WAY_BACK = { what: 'the way back', timeoutMs: 90_000 };

/** Sends SIGTERM, and resolves when the successor is there. */
async function restart({ gateway, name }: Replica): Promise<void> {
  const { pid, ended, kill } = gateway.stack.process(name);
  kill('SIGTERM');
  expect(await ended).toBe('exit code 0');
  await waitFor(() => gateway.stack.process(name).pid !== pid, { what: `${name} again`, timeoutMs: 90_000 });
}

const SERVICES = ['text', 'image', 'audio', 'text-worker', 'image-worker', 'audio-worker'] as const;
const BALANCED = ['edge', 'admin'] as const;

describe.concurrent('one replica of everything after the other: no request fails, no stream or job is cut', () => {
  test('with a process for each service', async ({ onTestFinished }) => {
    const names = [...SERVICES, ...BALANCED];
    const gateway = await startGateway({
      mode: 'each',
      configuration,
      env,
      replicas: Object.fromEntries(names.map((name) => [name, 2])),
    });
    onTestFinished(() => gateway.close());
    const urlsOf = (name: string) => [name, `${name}-2`].map((each) => gateway.stack.process(each).url ?? '');
    const balancers = await balance(urlsOf('edge'), urlsOf('admin'));
    onTestFinished(() => balancers.close());
    const first = names.map((name) => ({ gateway, name }));
    const second = names.map((name) => ({ gateway, name: `${name}-2` }));
    await restartInTurn(gateway, balancers, [first, second]);
  }, 600_000);

  test('with two processes that are all services', async ({ onTestFinished }) => {
    const files = await temporaryFolder();
    onTestFinished(() => files.close());
    const postgres = await startPostgres();
    onTestFinished(() => postgres[Symbol.asyncDispose]());
    const secret = () => randomBytes(32).toString('hex');
    const shared = {
      ...env,
      GATEWAY_SECRET: secret(),
      GATEWAY_BOOTSTRAP_KEY: secret(),
      GATEWAY_ADMIN_TOKEN: secret(),
      DATABASE_URL: postgres.url,
      ASSETS_URL: files.path,
    };
    const one = await startGateway({ mode: 'one', configuration, env: shared });
    onTestFinished(() => one.close());
    const other = await startGateway({
      mode: 'one',
      configuration: () => configuration(one.simulator.url),
      env: { ...shared, REDIS_URL: one.stack.redisUrl },
    });
    onTestFinished(() => other.close());
    const both = [one, other];
    const balancers = await balance(
      both.map(({ url }) => url),
      both.map(({ stack }) => stack.adminUrl ?? ''),
    );
    onTestFinished(() => balancers.close());
    const turns = both.map((gateway) => ['gateway', 'workers'].map((name) => ({ gateway, name })));
    await restartInTurn(one, balancers, turns);
  }, 600_000);
});
