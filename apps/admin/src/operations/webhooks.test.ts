import { createWebhookLog, type WebhookLog } from '@gateway/jobs/webhooks/webhook-log';
import { beforeAll, expect, test } from 'vitest';
import { ChangedKeyReply, WebhookSecretReply } from '../api/schemas/access.ts';
import { AuditPage, WebhookPage, WebhookReply } from '../api/schemas/operations.ts';
import { runCommand } from '../cli/run-command.ts';
import { runAdmin, TOKEN } from '../testing/run-admin.ts';
import { useAdmin } from '../testing/use-admin.ts';

let log: WebhookLog;
const admin = useAdmin({
  env: { WEBHOOK_SECRET: 'a webhook secret of more than 32 characters' },
  keepsData: true,
});
beforeAll(() => {
  log = createWebhookLog(admin.redis, () => undefined);
});

async function call(method: string, path: string, body?: unknown) {
  const reply = await fetch(`${admin.url}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: reply.status, body: await reply.json() };
}

/** @returns its exit code and what it printed */
async function command(...argv: string[]): Promise<readonly [number, string]> {
  let printed = '';
  const print = (text: string) => {
    printed += `${text}\n`;
  };
  const code = await runCommand({
    argv,
    env: { ADMIN_URL: admin.url, GATEWAY_ADMIN_TOKEN: TOKEN },
    fetch,
    now: Date.now,
    userName: 'ann',
    print,
    write: async (text) => print(text),
    printError: print,
  });
  return [code, printed];
}

const makeKey = async (settings: Record<string, unknown> = {}) =>
  ChangedKeyReply.loose().parse((await call('POST', '/keys', { name: 'hooked', ...settings })).body);

let jobs = 0;
async function announced(keyId: string): Promise<string> {
  jobs += 1;
  const digits = jobs.toString(16).padStart(32, '0');
  const id = `msg_${digits}`;
  await log.add({ id, jobId: `job_${digits}`, keyId, requestId: 'req_1', url: null }, '{}');
  return id;
}

test("the query of a key's webhook is in the key alone, not in lists and the audit log", async () => {
  const webhookUrl = 'https://hooks.example.com/jobs?token=in-the-query';
  const { id } = await makeKey({ webhookUrl });
  const read = await call('GET', `/keys/${id}`);
  expect(read.body).toMatchObject({ webhookUrl });
  // A change of something else leaves it as it is.
  expect((await call('PATCH', `/keys/${id}`, { name: 'renamed' })).body).toMatchObject({ webhookUrl });
  const listed = JSON.stringify([await call('GET', '/keys'), await call('GET', '/audit'), admin.output]);
  expect(listed).toContain('https://hooks.example.com/jobs?…');
  expect(listed).not.toContain('in-the-query');
  await call('DELETE', `/keys/${id}`);
});

test("a key's webhook secret is shown once, rotated with a grace, and audited without it", async () => {
  const made = await makeKey({ webhookUrl: 'https://hooks.example.com/jobs' });
  expect(made.warnings).toEqual([
    'The key has no webhook secret yet: nothing is sent to its webhookUrl until one is created.',
  ]);
  const path = `/keys/${made.id}/webhook-secret`;
  const first = WebhookSecretReply.parse((await call('POST', path, {})).body);
  expect(first.webhookSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(first).toMatchObject({ webhookSecretMadeAt: expect.any(String), oldWebhookSecretUntil: null });
  const second = WebhookSecretReply.parse((await call('POST', path, { graceSeconds: 60 })).body);
  expect(second.webhookSecret).not.toBe(first.webhookSecret);
  expect(second.oldWebhookSecretUntil).not.toBeNull();
  const patched = ChangedKeyReply.parse((await call('PATCH', `/keys/${made.id}`, { webhookUrl: null })).body);
  expect(patched).toMatchObject({
    webhookUrl: null,
    webhookSecretMadeAt: second.webhookSecretMadeAt,
    warnings: [],
  });
  const audit = AuditPage.parse((await call('GET', '/audit')).body);
  expect(audit.data.map(({ action }) => action).slice(0, 3)).toEqual([
    'key.changed',
    'key.webhook_secret_rotated',
    'key.webhook_secret_rotated',
  ]);
  const { webhookSecret } = second;
  expect(JSON.stringify([audit, admin.output, patched])).not.toContain(webhookSecret.slice(6));
  await call('DELETE', `/keys/${made.id}`);
  expect(await call('POST', path, {})).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
  expect((await call('POST', '/keys/key_none/webhook-secret', {})).status).toBe(404);
});

test('without WEBHOOK_SECRET there are no webhook secrets', async () => {
  const { id } = await makeKey();
  const off = await runAdmin(admin.server.url, { GATEWAY_DATA_DIR: admin.dataFolder });
  const reply = await fetch(`${off.url}/admin/v1/keys/${id}/webhook-secret`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: '{}',
  });
  expect(reply.status).toBe(409);
  expect(await reply.json()).toMatchObject({
    error: { message: expect.stringContaining('Set WEBHOOK_SECRET') },
  });
  await off.stop();
});

test.for([
  'ftp://hooks.example.com/',
  'https://ann:secret@hooks.example.com/',
  'https://hooks.example.com/#here',
  'hooks.example.com',
  `https://hooks.example.com/${'x'.repeat(2048)}`,
])('%.40s is refused as the URL of a webhook', async (webhookUrl) => {
  expect(await call('POST', '/keys', { name: 'hooked', webhookUrl })).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_value', path: 'webhookUrl' } },
  });
});

test('webhooks are listed by key and status, read, and replayed', async () => {
  const [one, other] = [await makeKey(), await makeKey()];
  const id = await announced(one.id);
  const otherId = await announced(other.id);
  const all = WebhookPage.parse((await call('GET', '/webhooks')).body);
  expect(all.data.map((webhook) => webhook.id)).toEqual([otherId, id]);
  const own = WebhookPage.parse((await call('GET', `/webhooks?keyId=${one.id}&status=pending`)).body);
  expect(own.data).toMatchObject([{ id, keyId: one.id, status: 'pending', attempts: [] }]);
  const page = WebhookPage.parse((await call('GET', '/webhooks?limit=1')).body);
  expect(page.next).toBe(otherId);
  const rest = WebhookPage.parse((await call('GET', `/webhooks?cursor=${page.next}`)).body);
  expect(rest).toMatchObject({ data: [{ id }], next: null });
  expect(WebhookReply.parse((await call('GET', `/webhooks/${id}`)).body)).toEqual(own.data[0]);
  // Nothing sends here: it is about to be sent already.
  expect((await call('POST', `/webhooks/${id}/replay`)).status).toBe(409);
  expect((await call('POST', '/webhooks/msg_none/replay')).status).toBe(404);
  expect((await call('GET', '/webhooks?status=lost')).status).toBe(400);
  expect((await call('GET', `/webhooks?cursor=msg_${'f'.repeat(32)}`)).status).toBe(400);
});

test('the command line does the same', async () => {
  const { id: keyId } = await makeKey();
  const [code, text] = await command('keys', 'webhook-secret', keyId, '--grace', '60');
  expect(code).toBe(0);
  expect(text).toMatch(/It is shown only once; give it to the receiver:\n\n {2}whsec_/);
  expect((await command('keys', 'update', keyId, '--webhook-url', 'https://hooks.example.com/'))[1]).toMatch(
    /webhookUrl +https:\/\/hooks\.example\.com\//,
  );
  const id = await announced(keyId);
  expect((await command('webhooks', 'list', '--key', keyId))[1]).toMatch(
    new RegExp(
      `^ID +KEY +CREATED +STATUS +ATTEMPTS +NEXT +LAST ERROR\n${id} +${keyId} +\\S+ +pending +0 +- +-\n$`,
    ),
  );
  expect((await command('webhooks', 'list', '--status', 'failed'))[1]).toBe('No matching webhooks.\n');
  expect((await command('webhooks', 'show', id))[1]).toContain('No attempts yet.');
  const [failed, why] = await command('webhooks', 'replay', id);
  expect([failed, why]).toEqual([1, expect.stringContaining('is being sent')]);
});
