import { writeFile } from 'node:fs/promises';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AlertsReply, AlertTestReply } from '../routes/operations/alert-routes.ts';
import { runAdmin, TOKEN } from '../testing/run-admin.ts';
import { SLACK_OK, startReceiver } from '../testing/start-receiver.ts';
import { useAdmin } from '../testing/use-admin.ts';

const REST = `channels:
  one: { provider: openai, apiKey: some-key }
  two: { provider: openai, apiKey: some-key }
models:
  gpt-5: { kind: text, routes: [{ channel: one }] }
`;

let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  receiver = await startReceiver(SLACK_OK);
});
afterAll(() => receiver[Symbol.asyncDispose]());

const ENV = { ALERTS_EVERY_SECONDS: '1', WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' };
const admin = useAdmin({ configuration: REST, env: ENV, keepsData: true });

const call = async (
  method: string,
  path: string,
  { url = admin.url, body }: { url?: string; body?: object } = {},
) =>
  fetch(`${url}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
const alerts = async () => AlertsReply.parse(await (await call('GET', '/alerts')).json());
const section = () => `alerts:
  receivers:
    ops: { type: slack, url: "${receiver.url}" }
    other: { type: teams, url: "\${NOT_KNOWN_HERE}" }
  rules:
    - { receivers: [ops], kinds: [channel_resting], afterSeconds: 0 }
  groupSeconds: 0
`;
const titles = () => receiver.received.map(({ body }) => String(body.text));

test('where nothing is configured no message is listed, and there is no receiver to test', async () => {
  expect(await alerts()).toMatchObject({ receivers: [], rules: [], deliveries: [] });
  expect((await call('POST', '/alerts/receivers/ops/test')).status).toBe(404);
  const metrics = await (await fetch(`${admin.url}/metrics`)).text();
  expect(metrics).not.toContain('gateway_alert_attempts_total');
});

test('a configured receiver is tested, and its address is shown nowhere', async () => {
  await writeFile(admin.configurationPath, REST + section());
  const tested = AlertTestReply.parse(await (await call('POST', '/alerts/receivers/ops/test')).json());
  expect(tested).toEqual({ isOk: true, status: 200, error: null });
  expect(titles()).toEqual(['Test message of the gateway']);
  const missing = AlertTestReply.parse(await (await call('POST', '/alerts/receivers/other/test')).json());
  expect(missing).toMatchObject({ isOk: false, error: expect.stringContaining('NOT_KNOWN_HERE') });
  const shown = await alerts();
  expect(shown.receivers).toMatchObject([
    { name: 'ops', target: expect.stringMatching(/^127\.0\.0\.1:\d+$/), missing: [] },
    { name: 'other', target: 'not known here', missing: ['NOT_KNOWN_HERE'] },
  ]);
  expect(JSON.stringify(shown)).not.toContain('a-secret-path');
  const metrics = await (await fetch(`${admin.url}/metrics`)).text();
  expect(metrics).toMatch(/gateway_alert_attempts_total\{receiver="slack",outcome="delivered",.*\} 1/);
  const line = await waitFor(() => admin.output.find((text) => text.includes('alert delivered')));
  expect(JSON.parse(line)).toMatchObject({
    receiver: 'ops',
    receiverType: 'slack',
    message: 'test',
    attempt: 1,
  });
  expect(admin.output.join('\n')).not.toContain('a-secret-path');
});

test('two admin services, of which one ends, send an alert once, and once that it is resolved', async () => {
  receiver.received.length = 0;
  const second = await runAdmin(admin.server.url, {
    ...ENV,
    ...{ GATEWAY_DATA_DIR: admin.dataFolder, GATEWAY_CONFIG: admin.configurationPath },
  });
  await call('POST', '/channels/one/rest', { body: { reason: 'repairs' } });
  await waitFor(() => titles().length > 0);
  await second.stop();
  // What was sent by either is old news once there is another channel.
  await call('POST', '/channels/two/rest', { body: { reason: 'repairs' } });
  await waitFor(() => titles().length > 1);
  expect(titles()).toEqual([
    "The channel 'one' is resting until woken: repairs (admin).",
    "The channel 'two' is resting until woken: repairs (admin).",
  ]);
  for (const name of ['one', 'two']) await call('POST', `/channels/${name}/wake`, { body: {} });
  await waitFor(() => receiver.received.some(({ text }) => text.includes('*Resolved*')));
  const listed = await waitFor(async () => {
    const { deliveries } = await alerts();
    return deliveries.every(({ status }) => status === 'delivered') && deliveries;
  });
  expect(listed.map(({ receiver: name, type }) => [name, type])).toEqual(listed.map(() => ['ops', 'alert']));
  expect(listed.length).toBe(receiver.received.length);
});

test('while Redis is away its alert is sent all the same, and resolved once it is back', async () => {
  receiver.received.length = 0;
  await writeFile(admin.configurationPath, REST + section().replace('channel_resting', 'redis_away'));
  await waitFor(async () => (await alerts()).rules[0]?.kinds?.[0] === 'redis_away');
  await waitFor(async () => (await admin.redis.get('gateway:{alerts}:lease')) !== null);
  admin.server.kill('SIGSTOP');
  await waitFor(() => titles().length > 0);
  admin.server.kill('SIGCONT');
  await waitFor(() => titles().length > 1);
  expect(titles()).toEqual(['🔴 Redis does not answer.', 'Resolved: Redis does not answer.']);
});
