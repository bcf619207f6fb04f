import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { runCommand } from '../cli/run-command.ts';
import { TOKEN } from '../testing/run-admin.ts';
import { useAdmin } from '../testing/use-admin.ts';

const admin = useAdmin();
const MASTER_KEY = 'sk-the-master-key';
const List = z.object({ data: z.array(z.unknown()) });
const FAR = '2099-01-01T00:00:00+00:00';
const hash = (letter: string): string => letter.repeat(64);

let teams: unknown[] = [];
let keys: unknown[] = [];
beforeEach(() => {
  teams = [
    {
      team_id: 'a5f2-search',
      team_alias: 'Search / EU',
      models: ['gpt-*', 'claude-opus-5'],
      max_budget: 100,
      budget_duration: '30d',
      tpm_limit: 100_000,
      rpm_limit: null,
      blocked: false,
      metadata: { model_rpm_limit: { 'gpt-5.2': 60 } },
      members_with_roles: [],
    },
  ];
  keys = [
    {
      token: hash('1'),
      key_alias: 'indexer',
      team_id: 'a5f2-search',
      rpm_limit: 30,
      max_parallel_requests: 5,
      models: [],
    },
    {
      token: hash('2'),
      key_name: 'sk-...abcd',
      models: ['all-proxy-models'],
      max_budget: 0.1,
      budget_duration: '10d',
      expires: FAR,
      user_id: 'ann@example.com',
      blocked: true,
    },
    { token: hash('3'), key_alias: 'old', expires: '2020-01-01T00:00:00Z' },
    { token: hash('4'), key_alias: 'lost', team_id: 'no-such-team', rpm_limit: 0, max_budget: 5 },
  ];
});

/** What LiteLLM lists, a page of two keys at a time. */
async function startLitellm(): Promise<string> {
  const server: Server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(`http://litellm${request.url}`);
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.headers.authorization !== `Bearer ${MASTER_KEY}`) return answer(401, { error: 'no' });
    if (pathname === '/proxy/team/list') return answer(200, teams);
    const page = Number(searchParams.get('page'));
    if (pathname !== '/proxy/key/list' || searchParams.get('return_full_object') !== 'true')
      return answer(404, {});
    return answer(200, {
      keys: keys.slice(2 * page - 2, 2 * page),
      total_count: keys.length,
      current_page: page,
      total_pages: Math.ceil(keys.length / 2),
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}/proxy`;
}

async function importFrom(url: string, token = MASTER_KEY) {
  const printed = { out: '', error: '' };
  const code = await runCommand({
    argv: ['import', 'litellm', '--from', url],
    env: { ADMIN_URL: admin.url, GATEWAY_ADMIN_TOKEN: TOKEN, LITELLM_MASTER_KEY: token },
    fetch,
    now: Date.now,
    userName: 'cli',
    print: (text) => {
      printed.out += `${text}\n`;
    },
    write: () => Promise.resolve(),
    printError: (text) => {
      printed.error += `${text}\n`;
    },
  });
  return { code, ...printed };
}

async function listed(path: string) {
  const response = await fetch(`${admin.url}/admin/v1/${path}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  return List.parse(await response.json()).data;
}

test('teams and keys are made with their limits and budgets and new secrets, and what differs is said', async () => {
  const { code, out, error } = await importFrom(await startLitellm());
  expect({ code, error }).toEqual({ code: 0, error: '' });
  expect(await listed('teams')).toMatchObject([
    {
      name: 'Search - EU',
      limits: { tokensPerMinute: 100_000, models: { 'gpt-5.2': { requestsPerMinute: 60 } } },
      budget: { usd: 100, period: 'month' },
    },
  ]);
  const made = await listed('keys');
  expect(made).toHaveLength(3);
  expect(made).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        name: 'indexer',
        team: 'Search - EU',
        models: ['gpt-*', 'claude-opus-5'],
        limits: { requestsPerMinute: 30, concurrentRequests: 5 },
        budget: null,
        disabled: false,
      }),
      expect.objectContaining({
        name: 'sk-...abcd',
        models: null,
        owner: 'ann@example.com',
        budget: expect.objectContaining({ usd: 0.1, period: 'week' }),
        expiresAt: '2099-01-01T00:00:00.000Z',
        disabled: true,
      }),
      expect.objectContaining({
        name: 'lost',
        team: null,
        limits: {},
        budget: expect.objectContaining({ usd: 5, period: 'total' }),
      }),
    ]),
  );
  expect(out.match(/gwk_[\w-]{49}/g)).toHaveLength(3);
  expect(out).toMatch(/gwk_\S+ {2}indexer \(Search - EU\)\n/);
  expect(out).toContain('LiteLLM has 1 team and 4 keys; 3 new keys were made.');
  for (const sentence of [
    'Key sk-...abcd: Its budget is for 10d, and now for each week',
    'Key old: It has expired',
    'Key lost: Its team is not in the list',
    'Key lost: Its rpm_limit is 0',
  ])
    expect(out).toContain(sentence);
  for (const letter of ['1', '2', '4']) expect(out).not.toContain(hash(letter));
});

test('an import that is repeated makes only what is not there', async () => {
  const url = await startLitellm();
  const [last] = keys.splice(3, 1);
  await importFrom(url);
  keys.push(last);
  const { code, out } = await importFrom(url);
  expect(code).toBe(0);
  expect(out.match(/gwk_[\w-]{49}/g)).toHaveLength(1);
  expect(out).toContain('Team Search - EU: It is already there');
  expect(out).toContain('Key indexer: It was imported before');
  expect(await listed('keys')).toHaveLength(3);
});

test('a wrong token, an address that is not LiteLLM and a form that is not known are said in a sentence', async () => {
  const url = await startLitellm();
  expect(await importFrom(url, 'wrong')).toMatchObject({
    code: 1,
    error: expect.stringMatching(/refused the token at .*master key/),
  });
  expect(await importFrom(`${admin.url}/healthz`)).toMatchObject({
    code: 1,
    error: expect.stringMatching(/LiteLLM/),
  });
  expect(await importFrom('http://127.0.0.1:1')).toMatchObject({
    code: 1,
    error: expect.stringMatching(/does not respond/),
  });
  expect(await importFrom('ftp://somewhere')).toMatchObject({
    code: 1,
    error: expect.stringMatching(/--from is the address/),
  });
  keys = [{ no: 'token' }];
  expect(await importFrom(url)).toMatchObject({
    code: 1,
    error: expect.stringMatching(/a form that the import does not know: token/),
  });
});
