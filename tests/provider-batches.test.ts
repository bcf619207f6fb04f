import Anthropic from '@anthropic-ai/sdk';
import { redisNames } from '@gateway/metering/redis-names';
import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ONE_PROVIDER } from './support/configuration.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** The services are killed at every step of a batch that a provider does: it is done there once, and each line is billed once. */

let gateway: Gateway;
let redis: Redis;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'text-worker'],
    replicas: { text: 2 },
    configuration: (origin) => ONE_PROVIDER(origin).replace('apiKey:', 'batches: provider, apiKey:'),
  });
  redis = new Redis(gateway.stack.redisUrl);
});
afterAll(async () => {
  redis?.disconnect();
  await gateway?.close();
});

const CHAT = '/v1/chat/completions';
const LINES = 40;
/** Records lie by the day on which their lines began. */
const BEGUN_AT_MS = Date.now();
/** Who had it may have the claim on it for a minute, and its job for half of one. */
const TAKEOVER = { timeoutMs: 240_000 };
const contents = Array.from({ length: LINES }, (_, n) => `line ${n}`);
const bodyOf = (content: string) => ({
  model: 'gpt-5.2',
  max_tokens: 50,
  messages: [{ role: 'user' as const, content }],
});

interface Face {
  create(): Promise<string>;
  /** The names of the lines that were answered; null before the batch has ended. */
  answered(id: string): Promise<string[] | null>;
}

const openaiFace: Face = {
  create: async () => {
    const { openai } = gateway;
    const lines = contents.map((content) =>
      JSON.stringify({ custom_id: content, method: 'POST', url: CHAT, body: bodyOf(content) }),
    );
    const file = await openai.files.create({
      file: await toFile(Buffer.from(lines.join('\n')), 'lines.jsonl'),
      purpose: 'batch',
    });
    const made = { input_file_id: file.id, endpoint: CHAT, completion_window: '24h' } as const;
    return (await openai.batches.create(made)).id;
  },
  answered: async (id) => {
    const batch = await gateway.openai.batches.retrieve(id);
    if (batch.status !== 'completed') return null;
    const text = await (await gateway.openai.files.content(batch.output_file_id ?? '')).text();
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).custom_id);
  },
};

const anthropicFace: Face = {
  create: async () => {
    const requests = contents.map((content, n) => ({ custom_id: `line-${n}`, params: bodyOf(content) }));
    return (await gateway.anthropic.messages.batches.create({ requests })).id;
  },
  answered: async (id) => {
    const { processing_status: status } = await gateway.anthropic.messages.batches.retrieve(id);
    if (status !== 'ended') return null;
    const names: string[] = [];
    for await (const { custom_id, result } of await gateway.anthropic.messages.batches.results(id))
      if (result.type === 'succeeded') names.push(custom_id.replace('-', ' '));
    return names;
  },
};

/** They are started again. */
async function kill(...names: string[]): Promise<void> {
  const processes = names.map((name) => gateway.stack.process(name));
  const over = processes.map((process) => process.ended);
  for (const process of processes) process.kill('SIGKILL');
  await Promise.all(over);
}

/** While a service is started again, the edge has nobody to ask. */
const ended = ({ name: what, face }: Step, id: string) =>
  waitFor(
    () =>
      face.answered(id).catch((error: unknown) => {
        if (error instanceof OpenAI.APIError || error instanceof Anthropic.APIError) return null;
        throw error;
      }),
    { ...TAKEOVER, what },
  );

/** They are written before a line's outcome is. */
const recordsOf = async (batchId: string) => {
  const days = new Set([BEGUN_AT_MS, Date.now()].map((atMs) => new Date(atMs).toISOString().slice(0, 10)));
  const entries = await Promise.all([...days].map((day) => redis.xrange(redisNames.records(day), '-', '+')));
  const all = entries.flat().map(([, fields]) => JSON.parse(fields[1] ?? ''));
  return all.filter(({ label }) => label === batchId);
};

interface Step {
  readonly name: string;
  readonly face: Face;
  /** The request of the gateway's that it is killed at. */
  readonly at: (method: string, path: string) => boolean;
  /** What is held of its answer. */
  readonly how: 'head' | 'half of the body';
}

const STEPS: readonly Step[] = [
  {
    name: 'a file is uploaded, which nobody has noted',
    face: openaiFace,
    at: (method, path) => method === 'POST' && path === '/v1/files',
    how: 'head',
  },
  {
    name: 'a batch is made of the file, which nobody has noted',
    face: openaiFace,
    at: (method, path) => method === 'POST' && path === '/v1/batches',
    how: 'head',
  },
  {
    name: 'the batch is at work',
    face: openaiFace,
    at: (method, path) => method === 'GET' && path.startsWith('/v1/batches/batch_'),
    how: 'head',
  },
  {
    name: 'half of its results have been read',
    face: openaiFace,
    at: (method, path) => method === 'GET' && path.endsWith('/content'),
    how: 'half of the body',
  },
  {
    name: 'a batch of messages is made, which nobody has noted',
    face: anthropicFace,
    at: (method, path) => method === 'POST' && path === '/v1/messages/batches',
    how: 'head',
  },
  {
    name: 'half of the results of messages have been read',
    face: anthropicFace,
    at: (method, path) => method === 'GET' && path.endsWith('/results'),
    how: 'half of the body',
  },
];

test('services and worker are killed at every step: each batch goes on from there', async () => {
  const { simulator } = gateway;
  const gate = createGate();
  const batches: { readonly step: Step; readonly id: string }[] = [];
  for (const step of STEPS) {
    const { face, at, how } = step;
    simulator.script(
      ({ method, path }) => at(method, path),
      how === 'head' ? { gate: gate.opened } : { stallAfter: 1, resume: gate.opened },
    );
    const id = await face.create();
    await waitFor(() => simulator.requests.some(({ method, path }) => at(method, path)), {
      ...TAKEOVER,
      what: step.name,
    });
    // Of what was read, some has been put down.
    if (how !== 'head')
      await waitFor(async () => (await recordsOf(id)).length > 0, { ...TAKEOVER, what: step.name });
    batches.push({ step, id });
  }
  await kill('text', 'text-2', 'text-worker');
  gate.open();
  for (const { step, id } of batches) {
    expect(await ended(step, id), step.name).toEqual(contents);
    const billed = await recordsOf(id);
    expect(billed, step.name).toHaveLength(LINES);
    expect(billed.every(({ estimated, outcome }) => !estimated && outcome === 'ok')).toBe(true);
  }
  expect(simulator.ledger()['gpt-5.2 (batch)']?.requests).toBe(LINES * STEPS.length);
  expect(simulator.ledger()['gpt-5.2']).toBeUndefined();
  const made = simulator.requests.filter(({ method, path }) => method === 'POST' && /\/batches$/.test(path));
  expect(made).toHaveLength(STEPS.length);
}, 600_000);
