import { readFile } from 'node:fs/promises';
import { makeAuthority } from '@gateway/testkit/make-authority';
import type { ReceiverEntry } from '@gateway/upstream/configuration/alerts-entry';
import { Certificates } from '@gateway/upstream/connecting/certificates';
import { DIRECT, type Network } from '@gateway/upstream/connecting/network';
import { parseNetworks } from '@gateway/upstream/fetching/public-address';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { found } from '../findings/finding.ts';
import { PLAIN, startMail } from '../testing/start-mail.ts';
import { type Answer, SLACK_OK, startReceiver, TEAMS_OK } from '../testing/start-receiver.ts';
import type { Message } from './message.ts';
import { createMessageSender, type SendOutcome } from './send-message.ts';

const { finding } = found({
  kind: 'model_slow',
  subject: 'claude-sonnet-5-5',
  sentence: "The first output of the model 'claude-sonnet-5-5' takes 3.0 times as long as usual.",
  comparison: '2.1 s at the median of the last 15 minutes; 700 ms is usual (last 7 days).',
  affects: 'Team <b>search</b> & co. No other route.',
  advice: 'Send a test request.',
  since: '2026-11-26T15:10:00.000Z',
  isUrgent: true,
});
const NONE = { findings: [], count: 0 };
const MESSAGE: Message = {
  ...{ type: 'alert', id: 'msg_1', atMs: Date.parse('2026-11-26T15:20:00Z') },
  ...{ opened: { findings: [finding], count: 1 }, continuing: NONE, resolved: NONE },
};
const REPORT: Message = {
  ...{ type: 'report', id: 'msg_2', atMs: MESSAGE.atMs, from: '2026-11-16', to: '2026-11-23' },
  teams: [
    ...[{ team: 'search', requests: 1200, costMicroUsd: 31_000_000, previousCostMicroUsd: 62_000_000 }],
    ...[{ team: null, requests: 1, costMicroUsd: 0, previousCostMicroUsd: 0 }],
  ].map((row) => ({ ...row, unpricedRequests: 0 })),
  total: { requests: 1201, costMicroUsd: 31_000_000, previousCostMicroUsd: 62_000_000, unpricedRequests: 2 },
};
const SECRET = `whsec_${Buffer.from('a secret of this test alone').toString('base64')}`;

interface SendOptions {
  readonly message?: Message;
  /** Networks besides public addresses. */
  readonly networks?: string | null;
  readonly network?: Network;
  readonly missing?: readonly string[];
}

async function send(settings: ReceiverEntry, options: SendOptions = {}): Promise<SendOutcome> {
  const { message = MESSAGE, networks = '127.0.0.0/8', network = DIRECT, missing = [] } = options;
  const sender = createMessageSender({
    ...{ timeZone: 'Europe/Berlin', consoleUrl: 'https://gateway.example.com', network },
    isPrivateAllowed: networks === null ? undefined : parseNetworks(networks),
    now: Date.now,
    timeLimitMs: 1000,
  });
  try {
    return await sender.send({ name: 'ops', settings, missing }, message);
  } finally {
    await sender.close();
  }
}

const DELIVERED = { error: null, isFinal: false };

test('Slack gets a header, the sentences with its signs escaped, and a link', async () => {
  await using slack = await startReceiver(SLACK_OK);
  expect(await send({ type: 'slack', url: slack.url })).toMatchObject({ status: 200, ...DELIVERED });
  const body = slack.received[0]?.body ?? {};
  const sent = slack.received[0]?.text;
  expect(body.text).toBe(`🔴 ${finding.sentence}`);
  expect(body.blocks).toMatchObject([
    { type: 'header', text: { type: 'plain_text', text: expect.stringContaining('claude-sonnet-5-5') } },
    { type: 'section', text: { type: 'mrkdwn', text: '*New*' } },
    {
      text: {
        text: expect.stringMatching(
          /^\*Urgent: The first output.*\*\n2\.1 s at the median.*\nTeam &lt;b&gt;search&lt;\/b&gt; &amp; co\..*\nSend a test request\.\nSince 26 Nov, 16:10 CET\.$/s,
        ),
      },
    },
    { text: { text: '<https://gateway.example.com/console/overview|Open the console>' } },
  ]);
  expect(sent).not.toContain('<b>');
});

test('Teams gets a message with one Adaptive Card whose texts are not read as Markdown', async () => {
  await using teams = await startReceiver(TEAMS_OK);
  expect(await send({ type: 'teams', url: teams.url })).toMatchObject({ status: 202, ...DELIVERED });
  const [{ body, text: sent } = { body: {}, text: '' }] = teams.received;
  expect(body).toMatchObject({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          type: 'AdaptiveCard',
          version: '1.4',
          body: expect.arrayContaining([expect.objectContaining({ type: 'RichTextBlock' })]),
          actions: [{ type: 'Action.OpenUrl', url: 'https://gateway.example.com/console/overview' }],
        },
      },
    ],
  });
  expect(sent).toContain('2.1 s at the median');
  expect(sent).not.toContain('"TextBlock"');
});

test('a card and a message of very many findings stay within what Teams and Slack take', async () => {
  await using receiver = await startReceiver(SLACK_OK);
  const long = { ...finding, sentence: 'x'.repeat(3000), comparison: 'y'.repeat(3000) };
  const many = { findings: Array.from({ length: 20 }, () => long), count: 900 };
  const message: Message = { ...MESSAGE, opened: many, continuing: NONE, resolved: NONE };
  await send({ type: 'teams', url: receiver.url }, { message });
  await send({ type: 'slack', url: receiver.url }, { message });
  const [teams, slack] = receiver.received;
  expect(Buffer.byteLength(teams?.text ?? '')).toBeLessThan(28 * 1024);
  expect(slack?.body.blocks).toHaveLength(24);
  expect(slack?.text).toContain('And 880 more.');
});

test('a card with all that a message may have stays within what Teams takes, and says what is left out', async () => {
  await using teams = await startReceiver(TEAMS_OK);
  const long = { ...finding, sentence: 'ж'.repeat(120), comparison: 'ж'.repeat(120) };
  const many = { findings: Array.from({ length: 20 }, () => long), count: 20 };
  const message: Message = { ...MESSAGE, opened: many, continuing: many, resolved: many };
  await send({ type: 'teams', url: teams.url }, { message });
  const sent = teams.received[0]?.text ?? '';
  expect(Buffer.byteLength(sent)).toBeLessThan(28 * 1024);
  expect(Buffer.byteLength(sent)).toBeGreaterThan(20 * 1024);
  expect(sent).toMatch(/"\d+ more do not fit into this message\."/);
});

test('a text that is cut does not end in half a sign', async () => {
  await using slack = await startReceiver(SLACK_OK);
  const emoji = { ...finding, isUrgent: false, sentence: `${'x'.repeat(148)}😀😀😀` };
  const message: Message = { ...MESSAGE, opened: { findings: [emoji], count: 1 } };
  await send({ type: 'slack', url: slack.url }, { message });
  expect(slack.received[0]?.text).not.toMatch(/\\ud[89a-f]/i);
});

test("a webhook is in the gateway's own form, signed as Standard Webhooks has it", async () => {
  await using receiver = await startReceiver(SLACK_OK);
  await send({ type: 'webhook', url: receiver.url, secret: SECRET });
  const [sent] = receiver.received;
  const headers = Object.fromEntries(
    Object.entries(sent?.headers ?? {}).map(([name, value]) => [name, String(value)]),
  );
  expect(headers['webhook-id']).toBe('msg_1');
  expect(new Webhook(SECRET).verify(sent?.text ?? '', headers)).toMatchObject({
    type: 'alert.changed',
    timestamp: '2026-11-26T15:20:00.000Z',
    data: { opened: { count: 1, findings: [{ id: 'model_slow claude-sonnet-5-5', since: finding.since }] } },
  });
});

test('the weekly report says the spend of each team beside that of the week before', async () => {
  await using receiver = await startReceiver(SLACK_OK);
  await send({ type: 'slack', url: receiver.url }, { message: REPORT });
  const [sent] = receiver.received;
  expect(sent?.body.text).toBe('Spend from 2026-11-16 to 2026-11-22: $31.00');
  for (const part of [
    '$31.00 for 1,201 requests, 50% less than in the week before ($62.00)',
    '2 requests without a price are not in it.',
    'search: $31.00',
    'Keys without a team: $0.00',
  ])
    expect(sent?.text).toContain(part);
});

const answer =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end('no_service');

test.for([
  [
    'is at its rate limit',
    answer(429, { 'retry-after': '30' }),
    { status: 429, isFinal: false, retryAfterMs: 30_000 },
  ],
  ['fails', answer(503), { status: 503, error: 'answered 503', isFinal: false, retryAfterMs: null }],
  ['does not know the address', answer(404), { status: 404, isFinal: true }],
  ['refuses the message', answer(400), { status: 400, isFinal: true }],
  ['redirects', answer(302, { location: 'http://169.254.169.254/' }), { status: 302, isFinal: false }],
  [
    'does not answer',
    () => undefined,
    { status: null, error: 'no whole answer within 1000 ms', isFinal: false },
  ],
  [
    'breaks the connection off',
    (response) => response.destroy(),
    { status: null, error: expect.stringContaining('the connection failed'), isFinal: false },
  ],
] as const satisfies readonly (readonly [string, Answer, object])[])(
  'a receiver that %s is tried again only where that may help',
  async ([, respond, expected]) => {
    await using receiver = await startReceiver(respond);
    expect(await send({ type: 'slack', url: receiver.url })).toMatchObject(expected);
    expect(receiver.received).toHaveLength(1);
  },
);

test('nothing is sent to an address that webhooks may not be sent to, or with a variable that is missing', async () => {
  await using receiver = await startReceiver(SLACK_OK);
  const settings = { type: 'slack', url: receiver.url } as const;
  expect(await send(settings, { networks: null })).toMatchObject({
    error: 'an address that webhooks may not be sent to over plain http',
    isFinal: true,
  });
  expect(await send(settings, { missing: ['SLACK_URL'] })).toMatchObject({
    error: 'the admin service does not have the variable SLACK_URL',
    isFinal: true,
  });
  const mail = { ...MAIL, smtpUrl: 'smtp://127.0.0.1:25' };
  expect(await send(mail, { networks: null })).toMatchObject({
    error: 'an address that alerts may not be sent to',
    isFinal: true,
  });
  expect(receiver.received).toEqual([]);
});

const MAIL = {
  type: 'email',
  smtpUrl: '',
  from: 'Gateway <gateway@example.com>',
  to: ['ops@example.com', 'ann@example.com'],
} as const satisfies ReceiverEntry;

test('a mail has the sentences as text and as HTML, to all of its readers', async () => {
  await using mail = await startMail(PLAIN);
  const smtpUrl = `smtp://127.0.0.1:${mail.port}`;
  expect(await send({ ...MAIL, smtpUrl })).toMatchObject({ status: 250, ...DELIVERED });
  const [sent] = mail.received;
  expect(sent?.to).toEqual(MAIL.to);
  const readable = sent?.text.replaceAll(/=\r\n/g, '') ?? '';
  expect(readable).toMatch(/^Subject: \[gateway\] Urgent: The first output of the model/m);
  expect(readable).toMatch(/^Message-ID: <msg_1@example.com>/m);
  expect(readable).toContain('2.1 s at the median of the last 15 minutes');
  expect(readable).toContain('Team &lt;b&gt;search&lt;/b&gt; &amp; co.');
});

test.for(['smtp', 'smtps'] as const)('a password is sent over %s by TLS alone', async (scheme) => {
  await using authority = await makeAuthority(['127.0.0.1']);
  const certificates = new Certificates(authority.file);
  await certificates.load((path) => readFile(path, 'utf8'));
  const network = { ...DIRECT, certificates };
  const { key, cert } = authority;
  await using mail = await startMail({ secure: scheme === 'smtps', key, cert });
  const smtpUrl = `${scheme}://ann:p%40ss@127.0.0.1:${mail.port}`;
  expect(await send({ ...MAIL, smtpUrl }, { network })).toMatchObject(DELIVERED);
  expect(mail.received).toMatchObject([{ user: 'ann', isSecure: true }]);
  // A certificate of nobody who is trusted.
  expect(await send({ ...MAIL, smtpUrl })).toMatchObject({ error: expect.stringContaining('failed') });
  const wrong = smtpUrl.replace('p%40ss', 'wrong');
  expect(await send({ ...MAIL, smtpUrl: wrong }, { network })).toMatchObject({ status: 535, isFinal: true });
  await using plain = await startMail(PLAIN);
  const open = await send({ ...MAIL, smtpUrl: `smtp://ann:p%40ss@127.0.0.1:${plain.port}` }, { network });
  expect(open.error).not.toBeNull();
  expect(mail.received).toHaveLength(1);
  expect(plain.received).toEqual([]);
});

test.for([
  [451, false],
  [554, true],
] as const)('a mail server that answers %i is tried again: not %s', async ([status, isFinal]) => {
  await using mail = await startMail(PLAIN, status);
  expect(await send({ ...MAIL, smtpUrl: `smtp://127.0.0.1:${mail.port}` })).toMatchObject({
    ...{ status, isFinal },
    error: `the mail server answered ${status}`,
  });
});
