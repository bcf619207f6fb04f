import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { createLedger } from '@gateway/metering/ledger/ledger';
import { createRedis } from '@gateway/redis/open-redis';
import { freePort } from '@gateway/testkit/free-port';
import { type TemporaryFolder, temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from './cli/run-command.ts';
import { TOKEN } from './testing/run-admin.ts';
import { useAdmin } from './testing/use-admin.ts';

const admin = useAdmin({ keepsData: true });
let dataFolder: TemporaryFolder;

beforeAll(async () => {
  dataFolder = await temporaryFolder();
  await mkdir(join(dataFolder.path, 'secrets'));
  await writeFile(join(dataFolder.path, 'secrets', 'admin-token'), `${TOKEN}\n`);
});
afterAll(async () => {
  await dataFolder.close();
});

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** The command, by default with the data folder of a running gateway. tests/cli.test.ts runs it as a process. */
async function gateway(
  argv: string[],
  { USER = 'cli', ...env }: Record<string, string> = {},
): Promise<Ended> {
  const printed = { out: '', error: '' };
  const code = await runCommand({
    argv,
    env: { ADMIN_URL: admin.url, GATEWAY_DATA_DIR: dataFolder.path, ...env },
    fetch,
    now: Date.now,
    userName: USER,
    print: (text) => {
      printed.out += `${text}\n`;
    },
    write: async (text) => {
      printed.out += text;
    },
    printError: (text) => {
      printed.error += `${text}\n`;
    },
  });
  return { code, ...printed };
}

test('the first person is invited, gets another link, is disabled and deleted from the command line', async () => {
  const made = await gateway(['people', 'invite', 'ann@example.com']);
  expect(made.out).toMatch(
    /^ann@example\.com sets a password by this link.*\n\n {2}\/console\/set-password#[\w-]{43}\n$/,
  );
  const listed = await gateway(['people', 'list']);
  const [id = ''] = /per_\w+/.exec(listed.out) ?? [];
  expect(listed.out).toMatch(/ann@example\.com +ann@example\.com +admin +invited +never/);
  const again = await gateway(['people', 'link', id]);
  expect(again.out).toContain('#');
  expect(again.out).not.toBe(made.out);
  const mailed = await gateway(['people', 'link', id, '--send-email']);
  expect(mailed.out).toMatch(/#[\w-]{43}\n\nThe e-mail was not sent\. CONSOLE_URL is not set/);
  expect((await gateway(['people', 'update', id, '--disable'])).out).toContain('disabled');
  expect((await gateway(['people', 'sign-out', id])).code).toBe(0);
  expect((await gateway(['people', 'delete', id])).out).toBe(`Deleted person ${id} (ann@example.com).\n`);
});

test('a key is made, listed and revoked from the command line', async () => {
  const made = await gateway([
    'keys',
    'create',
    '--name',
    'search',
    '--team',
    'platform',
    '--models',
    'gpt-*, claude-*',
  ]);
  expect(made.code).toBe(0);
  const [, id] = /Created key (key_\w+) \(search\)\. It is shown only once/.exec(made.out) ?? [];
  expect(made.out).toMatch(/\n\n {2}gwk_[\w-]{49}\n/);

  const listed = await gateway(['keys', 'list']);
  expect(listed.out.split('\n')[0]).toMatch(/^ID +NAME +TEAM +MODELS +ENDPOINTS +CREATED +STATE$/);
  expect(listed.out).toMatch(
    new RegExp(`${id} +search +platform +gpt-\\*,claude-\\* +all +[\\d-]+ +active\\n`),
  );

  expect((await gateway(['keys', 'revoke', id ?? ''])).out).toBe(`Revoked key ${id} (search).\n`);
  expect((await gateway(['keys', 'list'])).out).toMatch(/revoked \d{4}-\d\d-\d\d\n/);
});

test('programs get JSON', async () => {
  const args = [
    '--json',
    '--endpoints',
    'images',
    '--label',
    'a=b=c',
    '--expires-at',
    '2126-01-01T00:00:00Z',
  ];
  const made = JSON.parse((await gateway(['keys', 'create', ...args])).out);
  expect(made).toMatchObject({
    key: expect.stringMatching(/^gwk_/),
    name: 'cli',
    endpoints: ['images'],
    labels: { a: 'b=c' },
    expiresAt: '2126-01-01T00:00:00Z',
  });
  const listed = JSON.parse((await gateway(['keys', 'list', '--json'])).out);
  expect(listed).toContainEqual(expect.objectContaining({ id: made.id }));
  expect(JSON.parse((await gateway(['keys', 'revoke', made.id, '--json'])).out)).toMatchObject({
    id: made.id,
  });
});

test('a refusal of the service is printed in its words', async () => {
  const refused = await gateway(['keys', 'create', '--endpoints', 'video']);
  expect(refused).toMatchObject({
    code: 1,
    out: '',
    error: expect.stringContaining("Invalid value: 'video'"),
  });
  expect((await gateway(['keys', 'revoke', 'key_nobody'])).error).toBe("There is no key 'key_nobody'.\n");
});

test('a service that is not running, a wrong token and a missing one each have an error with the next step', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  expect(await gateway(['keys', 'list'], { ADMIN_URL: url })).toMatchObject({
    code: 1,
    error: `The admin service is not responding at ${url}. Start the gateway with npm start, or set ADMIN_URL.\n`,
  });
  const wrong = await gateway(['keys', 'list'], { GATEWAY_ADMIN_TOKEN: 'another-token' });
  expect(wrong.code).toBe(1);
  expect(wrong.error).toContain('refused the token from GATEWAY_ADMIN_TOKEN');
  expect(wrong.error).not.toContain('another-token');
  const missing = await gateway(['keys', 'list'], { GATEWAY_DATA_DIR: join(dataFolder.path, 'empty') });
  expect(missing.error).toMatch(
    /^There is no admin token: GATEWAY_ADMIN_TOKEN is not set and .*admin-token cannot be read/,
  );
});

test('a key is changed and rotated from the command line', async () => {
  const { id, key } = JSON.parse((await gateway(['keys', 'create', '--json', '--models', 'gpt-*'])).out);
  const changes = ['--limit', 'requestsPerMinute=60', '--limit', 'tokensPerMinute=1000', '--budget', '12.5'];
  const changed = await gateway([
    'keys',
    'update',
    id,
    ...changes,
    '--period',
    'month',
    '--remove',
    'models',
  ]);
  expect(changed).toMatchObject({ code: 0, error: '' });
  expect(changed.out).toMatch(/^limits +requestsPerMinute=60, tokensPerMinute=1000$/m);
  expect(changed.out).toMatch(/^budget +usd=12\.5, period=month, allowUnpriced=false$/m);
  expect(changed.out).toMatch(/^models +-$/m);
  const fewer = await gateway(['keys', 'update', id, '--remove', 'limits.tokensPerMinute', '--disable']);
  expect(fewer.out).toMatch(/^limits +requestsPerMinute=60$/m);
  expect((await gateway(['keys', 'show', id])).out).toMatch(/^disabled +true$/m);
  const rotated = await gateway(['keys', 'rotate', id, '--grace', '3600']);
  expect(rotated.out).toMatch(/\n\n {2}gwk_[\w-]{49}\n\nThe old secret works until \d{4}-/);
  expect(rotated.out).not.toContain(key);
  expect((await gateway(['keys', 'rotate', id])).out).toContain('The old secret no longer works.');
  const wrong = await gateway(['keys', 'update', id, '--limit', 'requestsPerMinute=many']);
  expect(wrong).toMatchObject({ code: 1, error: expect.stringContaining('limits.requestsPerMinute') });
});

test('limits for some models are set and removed from the command line', async () => {
  const wanted = [
    'gpt-4.1*:tokensPerMinute=1000',
    'gpt-4.1*:requestsPerMinute=5',
    'llama3:8b:imagesPerMinute=2',
  ];
  const options = ['--limit', 'requestsPerMinute=60', ...wanted.flatMap((text) => ['--model-limit', text])];
  const { id, limits } = JSON.parse((await gateway(['keys', 'create', '--json', ...options])).out);
  expect(limits).toEqual({
    requestsPerMinute: 60,
    models: {
      'gpt-4.1*': { tokensPerMinute: 1000, requestsPerMinute: 5 },
      'llama3:8b': { imagesPerMinute: 2 },
    },
  });
  const balance = await gateway(['keys', 'balance', id]);
  expect(balance.out).toMatch(/^tokensPerMinute +gpt-4\.1\* +1000 +1000$/m);
  const changes = ['--model-limit', 'gpt-*:requestsPerMinute=9', '--remove', 'limits.models.gpt-4.1*'];
  const changed = JSON.parse((await gateway(['keys', 'update', id, '--json', ...changes])).out);
  expect(changed.limits).toEqual({
    requestsPerMinute: 60,
    models: { 'llama3:8b': { imagesPerMinute: 2 }, 'gpt-*': { requestsPerMinute: 9 } },
  });
  const wrong = await gateway(['keys', 'update', id, '--model-limit', 'tokensPerMinute=5']);
  expect(wrong).toMatchObject({ code: 2, error: expect.stringContaining('PATTERN:NAME=COUNT') });
});

test('a team is made, changed, listed and deleted from the command line', async () => {
  const made = await gateway(['teams', 'create', 'data science', '--budget', '100', '--period', 'week']);
  expect(made.out).toMatch(/^budget +usd=100, period=week, allowUnpriced=false$/m);
  await gateway(['teams', 'update', 'data science', '--limit', 'concurrentRequests=5', '--remove', 'budget']);
  const listed = await gateway(['teams', 'list']);
  expect(listed.out).toMatch(/^NAME +LIMITS +BUDGET\n/);
  expect(listed.out).toMatch(/^data science +concurrentRequests=5 +-$/m);
  const balance = await gateway(['teams', 'balance', 'data science']);
  expect(balance.out).toMatch(/^LIMIT +MODELS +VALUE +LEFT\nconcurrentRequests +all +5 +5\n\nNo budget\.\n$/);
  expect((await gateway(['teams', 'delete', 'data science'])).code).toBe(0);
  expect((await gateway(['teams', 'show', 'data science'])).error).toBe("There is no team 'data science'.\n");
});

test('usage, its records, channels and changes are shown', async () => {
  const client = createRedis(admin.server.url, 'request');
  await client.connect();
  const ledger = createLedger({ redis: client, now: Date.now, keepRecordsDays: 1 });
  const subject = { id: 'req_1', keyId: 'key_a', team: null, endpoint: 'responses', model: 'gpt-5' };
  await ledger.settle(
    { ...subject, startedAtMs: Date.now() },
    {
      ...{ outcome: 'ok', channel: 'one', attempts: 1, durationMs: 1, firstByteMs: 1 },
      ...{ consumption: NOTHING_CONSUMED, estimated: false, costMicroUsd: 1_234_567 },
    },
  );
  await client.quit();
  const usage = await gateway(['usage', '--group-by', 'keyId,model', '--key', 'key_a']);
  expect(usage.out).toMatch(/^keyId +model +requests +.* usd\n/);
  expect(usage.out).toMatch(/^key_a +gpt-5 +1 .* 1\.234567$/m);
  const rows = JSON.parse((await gateway(['usage', '--json'])).out);
  expect(rows).toMatchObject([{ model: 'gpt-5', requests: 1 }]);
  expect((await gateway(['usage', '--from', '2020-01-01', '--to', '2020-01-02'])).out).toBe(
    'No usage in this period.\n',
  );
  const refused = await gateway(['usage', '--group-by', 'day', '--time-zone', 'Mars/Olympus']);
  expect(refused.error).toContain('Unknown time zone. A name such as Europe/Berlin or UTC.');
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: 'Pacific/Kiritimati', dateStyle: 'short' });
  const days = [
    'usage',
    '--group-by',
    'day',
    '--time-zone',
    'Pacific/Kiritimati',
    '--key',
    'key_a',
    '--json',
  ];
  const [before, byDay, after] = [today.format(), JSON.parse((await gateway(days)).out), today.format()];
  expect([before, after]).toContain(byDay[0].day);
  const records = await gateway(['usage', 'records', '--format', 'csv']);
  expect(records.out).toMatch(/^id,startedAt,.*\r\nreq_1,/);
  expect((await gateway(['channels'], {})).error).toContain('The configuration file cannot be read');
  const made = await gateway(['keys', 'create', '--name', 'audited'], { USER: 'ann' });
  expect(made.code).toBe(0);
  const audit = await gateway(['audit', '--count', '1']);
  expect(audit.out).toMatch(/^WHEN +WHO +ACTION +SUBJECT +CHANGES\n\S+ +ann +key\.created +key_\w+\n$/);
});
