import { isLongRun } from '@gateway/testkit/is-long-run';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createKey } from '../support/admin-keys.ts';
import { ONE_PROVIDER } from '../support/configuration.ts';
import { pngFile, wavFile } from '../support/media-files.ts';
import { type Gateway, type GatewayRequest, startGateway } from '../support/start-gateway.ts';
import { ENTRY_POINTS, IMAGE_WORDS, TARGETS } from './entry-points.ts';

/** Members that every object inherits. Whatever takes a caller's word for a row of a table finds them there. */
const NAMES = ['constructor', 'toString', '__proto__', 'valueOf', 'hasOwnProperty'];

const configuration = (origin: string) =>
  `${ONE_PROVIDER(origin)}
  any-size: { kind: image, routes: [{ channel: provider }], price: { perImage: { 1024x1024: 0.04 } } }
${TARGETS.map((name) => `  at-${name}: { kind: text, routes: [{ channel: ${name} }], price: { inputPerMTok: 1, serviceTiers: { flex: { inputPerMTok: 0.5 } } }, dropUnavailableTools: true }\n`).join('')}`.replace(
    'channels:',
    `channels:
${TARGETS.map((name) => `  ${name}: { provider: simulator, baseUrl: "${origin}", speaks: [${name}] }\n`).join('')}`,
  );

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ configuration });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

/** A copy with another value at a path such as `tools.0.type`; what is missing on the way is made. */
function changed(value: unknown, [step, ...rest]: readonly string[], last: unknown): unknown {
  if (step === undefined) return last;
  if (/^\d+$/.test(step)) {
    const list = Array.isArray(value) ? [...value] : [];
    list[Number(step)] = changed(list[Number(step)], rest, last);
    return list;
  }
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const before = members.find(([name]) => name === step)?.[1];
  const others = members.filter(([name]) => name !== step);
  return Object.fromEntries([...others, [step, changed(before, rest, last)]]);
}

const QUERIES = ['limit', 'order', 'after', 'include', 'stream', 'starting_after', 'after_id'];
const HEADERS = [
  'prefer',
  'accept',
  'anthropic-version',
  'anthropic-beta',
  'openai-beta',
  'content-type',
  'content-encoding',
  'x-gateway-strict',
  'idempotency-key',
  'x-request-id',
];

const stepsOf = (path: string) => path.split('.').filter((step) => step !== '');

/** A request, and in a few words what is odd about it. */
type OddRequest = readonly [what: string, path: string, request: GatewayRequest];

async function failuresOf([what, ...request]: OddRequest): Promise<readonly string[]> {
  const response = await gateway.fetch(...request);
  const text = await response.text();
  return response.status < 500 ? [] : [`${what}: ${text}`];
}

/** What `ask` complains about, a few requests at a time. */
async function complaints<Item>(
  items: readonly Item[],
  ask: (item: Item) => Promise<readonly string[]>,
): Promise<string[]> {
  const rest = items.values();
  const found: string[] = [];
  const work = async () => {
    for (const item of rest) found.push(...(await ask(item)));
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return found;
}

/** Each place with the object that is inherited and with a function that is; with every name in a long run. */
function namesAt(paths: readonly string[]): (readonly [at: string, name: string])[] {
  const functions = NAMES.filter((name) => name !== '__proto__');
  return paths.flatMap((at, index) => {
    const names = isLongRun ? NAMES : ['__proto__', ...functions.slice(index % functions.length).slice(0, 1)];
    return names.map((name) => [at, name] as const);
  });
}

test.for(ENTRY_POINTS.map((entry) => [`${entry.path} ${Object.values(entry.body)[0]}`, entry] as const))(
  'a word that objects inherit is a word like any other: %s',
  async ([, { path, body, words, objects }]) => {
    const asItIs = await gateway.fetch(path, { json: body });
    expect(asItIs.status, await asItIs.text()).toBe(200);
    const requests = [
      ...namesAt(['model', ...words]).map(
        ([at, name]): OddRequest => [`${at}=${name}`, path, { json: changed(body, stepsOf(at), name) }],
      ),
      ...namesAt(objects).map(
        ([at, name]): OddRequest => [
          `${at}.${name}`,
          path,
          { json: changed(body, [...stepsOf(at), name], { a: 1 }) },
        ],
      ),
    ];
    expect(await complaints(requests, failuresOf)).toEqual([]);
  },
);

const form = (parts: readonly (readonly [string, string | File])[]) => {
  const body = new FormData();
  for (const [name, value] of parts) body.append(name, value);
  return { body };
};

test('a word that objects inherit fails no form, as a value or as a name', async () => {
  const edit = [
    ['model', 'gpt-image-1'],
    ['prompt', 'a house'],
    ['image', pngFile()],
  ] as const;
  const speech = [
    ['model', 'whisper-1'],
    ['file', wavFile(1)],
  ] as const;
  const replaced = (parts: readonly (readonly [string, string | File])[], name: string, value: string) =>
    form([...parts.filter(([each]) => each !== name), [name, value]]);
  const transcriptionWords = [
    'model',
    'language',
    'response_format',
    'timestamp_granularities[]',
    'include[]',
    'chunking_strategy',
    'chunking_strategy[type]',
    'stream',
    'temperature',
  ];
  const requests = NAMES.flatMap((word): OddRequest[] => [
    ...['model', ...IMAGE_WORDS, 'input_fidelity', 'n', word, `${word}[]`].map(
      (name): OddRequest => [`${name}=${word}`, '/v1/images/edits', replaced(edit, name, word)],
    ),
    ...[...transcriptionWords, word, `${word}[]`, `chunking_strategy[${word}]`].map(
      (name): OddRequest => [`${name}=${word}`, '/v1/audio/transcriptions', replaced(speech, name, word)],
    ),
    [`a file ${word}`, '/v1/audio/transcriptions', form([...speech, [word, wavFile(1)]])],
  ]);
  expect(await complaints(requests, failuresOf)).toEqual([]);
});

test('a word that objects inherit fails no path, query or header', async () => {
  const hello = { model: 'at-messages', input: 'hello' };
  const get = (path: string): OddRequest => [path, path, {}];
  const requests = NAMES.flatMap((word): OddRequest[] => [
    ...['/v1', '/v1/models', '/v1/responses', '/v1/images/assets', '/v1/images/jobs', '/v1/audio'].map(
      (path) => get(`${path}/${word}`),
    ),
    ...['/v1/models', '/v1/responses/resp_1', '/v1/responses/resp_1/input_items', '/v1/key'].flatMap(
      (path) => [get(`${path}?${word}=1`), ...QUERIES.map((name) => get(`${path}?${name}=${word}`))],
    ),
    ...[...HEADERS, word].map((name): OddRequest => {
      const headers = Object.fromEntries([[name, word]]);
      return [`${name}: ${word}`, '/v1/responses', { json: hello, headers }];
    }),
    [word, '/v1/key', { method: word }],
  ]);
  expect(await complaints(requests, failuresOf)).toEqual([]);
});

test('a word that objects inherit fails no call of the admin service', async () => {
  const { stack } = gateway;
  const { id } = await createKey(stack, {
    name: 'one',
    limits: { models: { 'gpt-*': { requestsPerMinute: 1 } } },
  });
  const ask = async ([path, method, body]: readonly [string, string, unknown]) => {
    const response = await fetch(`${stack.adminUrl}/admin/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return response.status < 500 ? [] : [`${method} ${path} ${JSON.stringify(body)}: ${text}`];
  };
  const key = { name: 'two', endpoints: ['responses'], budget: { usd: 1, period: 'day' } };
  const words = [
    'name',
    'team',
    'owner',
    'models.0',
    'endpoints.0',
    'limits',
    'budget',
    'budget.period',
    'expiresAt',
    'disabled',
    'labels.a',
  ];
  const objects = ['', 'limits', 'limits.models', 'budget', 'labels'];
  const requests = NAMES.flatMap((word): (readonly [string, string, unknown])[] => {
    const bodies = [
      ...words.map((at) => changed(key, stepsOf(at), word)),
      ...objects.map((at) => changed(key, [...stepsOf(at), word], { requestsPerMinute: 1 })),
    ];
    return [
      ...bodies.map((body) => ['keys', 'POST', body] as const),
      ...bodies.map((body) => [`keys/${id}`, 'PATCH', body] as const),
      ['teams', 'POST', { name: `t ${word}`, limits: { models: changed({}, [word], {}) } }],
      ...[
        'keys',
        'teams',
        'keys?cursor=',
        'audit?cursor=',
        'teams?cursor=',
        'usage?groupBy=',
        'usage?model=',
        'usage/records?format=',
        'usage/records?model=',
      ].map((path) => [path.includes('?') ? `${path}${word}` : `${path}/${word}`, 'GET', undefined] as const),
      ...['keys', 'usage', 'audit', 'channels'].map(
        (path) => [`${path}?${word}=${word}`, 'GET', undefined] as const,
      ),
      [word, 'GET', undefined],
    ];
  });
  expect(await complaints(requests, ask)).toEqual([]);
});
