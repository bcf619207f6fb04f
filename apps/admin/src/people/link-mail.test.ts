import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { TOKEN } from '../testing/run-admin.ts';
import { PLAIN, startMail } from '../testing/start-mail.ts';
import { useAdmin } from '../testing/use-admin.ts';

const MODELS = `channels:
  one: { provider: openai, apiKey: some-key }
models:
  gpt-5: { kind: text, routes: [{ channel: one }] }
`;
const admin = useAdmin({
  configuration: MODELS,
  env: { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8', CONSOLE_URL: 'https://gateway.example.com' },
});

const Reply = z.looseObject({
  id: z.string().default(''),
  link: z.string().default(''),
  delivery: z.looseObject({ isSent: z.boolean(), message: z.string().nullable() }).nullish(),
  error: z.looseObject({ message: z.string() }).optional(),
});

async function post(path: string, body?: object) {
  const response = await fetch(`${admin.url}/admin/v1/people${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: Reply.parse(await response.json()) };
}
const ann = (settings: object = {}) => ({
  ...{ email: 'ann@example.com', name: 'Ann', role: 'viewer', ...settings },
});
const configure = (smtpUrl: string) =>
  writeFile(
    admin.configurationPath,
    `${MODELS}alerts:
  receivers:
    people: { type: email, smtpUrl: "${smtpUrl}", from: Gateway <gateway@example.com>, to: [ops@example.com] }
`,
  );
/** Links that were to be sent, by what came of it. */
async function countOf(outcome: 'sent' | 'failed'): Promise<number> {
  const page = await (await fetch(`${admin.url}/metrics`)).text();
  const counted = new RegExp(`^gateway_console_link_emails_total\\{.*outcome="${outcome}".*\\} (\\d+)$`, 'm');
  return Number(counted.exec(page)?.[1] ?? 0);
}
const readable = (text: string): string => text.replaceAll(/=\r\n/g, '').replaceAll('=3D', '=');

test('an invitation and a reset are sent by e-mail to the person alone, and the link is in no log', async () => {
  await using mail = await startMail(PLAIN);
  await configure(`smtp://127.0.0.1:${mail.port}`);
  const sentBefore = await countOf('sent');
  const invited = await post('', ann({ sendEmail: true }));
  expect(invited).toMatchObject({ status: 201, body: { delivery: { isSent: true, message: null } } });
  expect(invited.body.link).toMatch(/^https:\/\/gateway\.example\.com\/console\/set-password#/);
  const again = await post(`/${invited.body.id}/link`, { sendEmail: true });
  expect(again.body.delivery).toEqual({ isSent: true, message: null });
  expect(mail.received.map(({ to }) => to)).toEqual([['ann@example.com'], ['ann@example.com']]);
  expect(await countOf('sent')).toBe(sentBefore + 2);
  const [first, second] = mail.received.map(({ text }) => readable(text));
  expect(first).toMatch(/^Subject: \[gateway\] Your invitation to the console/m);
  expect(first).toContain(invited.body.link);
  expect(second).toContain(again.body.link);

  const audit = await fetch(`${admin.url}/admin/v1/audit?limit=100`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  const written = `${await audit.text()}${admin.output.join('\n')}`;
  expect(written).toContain('link sent by e-mail');
  for (const { body } of [invited, again]) expect(written).not.toContain(body.link.split('#')[1]);
});

test('nothing is sent that nobody asked for, and without a body a link is made as before', async () => {
  await using mail = await startMail(PLAIN);
  await configure(`smtp://127.0.0.1:${mail.port}`);
  const invited = await post('', ann());
  expect(invited.body.delivery).toBeNull();
  expect((await post(`/${invited.body.id}/link`)).body).toMatchObject({ delivery: null });
  expect(mail.received).toEqual([]);
});

test('where the e-mail cannot be sent, the answer says why and has the link', async () => {
  await writeFile(admin.configurationPath, MODELS);
  const invited = await post('', ann({ sendEmail: true }));
  expect(invited.status).toBe(201);
  expect(invited.body.link).toContain('#');
  expect(invited.body.delivery).toEqual({
    isSent: false,
    message:
      "The e-mail was not sent. No mail server is set. Add a receiver of the type email to 'alerts' in the configuration. Copy the link and send it yourself.",
  });
  await using mail = await startMail(PLAIN, 554);
  await configure(`smtp://127.0.0.1:${mail.port}`);
  const failedBefore = await countOf('failed');
  const refused = await post(`/${invited.body.id}/link`, { sendEmail: true });
  expect(refused.body.delivery?.message).toContain('the mail server answered 554');
  expect(await countOf('failed')).toBe(failedBefore + 1);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as the configuration has it
  await configure('${SMTP_URL_OF_NOBODY}');
  const missing = await post(`/${invited.body.id}/link`, { sendEmail: true });
  expect(missing.body.delivery?.message).toContain('does not have the variable SMTP_URL_OF_NOBODY');
});

test('an eleventh link for a person within an hour is refused with a sentence', async () => {
  const { body } = await post('', ann());
  const links = [];
  for (let made = 0; made < 10; made += 1) links.push(await post(`/${body.id}/link`));
  const last = links.at(-1);
  expect(links.slice(0, 9).map(({ status }) => status)).toEqual(Array.from({ length: 9 }, () => 200));
  expect(last).toMatchObject({
    status: 429,
    body: {
      error: {
        message: expect.stringMatching(
          /^10 links were created for this person within an hour.*60 minutes\.$/,
        ),
      },
    },
  });
});
