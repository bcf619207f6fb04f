import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { type OpenPage, type RunningConsole, runConsole } from './run-console.ts';
import { seriousViolations, showIn } from './serious-violations.ts';

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 30_000;

let running: RunningConsole;
let person: OpenPage;

beforeAll(async () => {
  running = await runConsole(inject('chromiumPath'));
}, 300_000);
afterAll(() => running?.close());
beforeEach(async () => {
  person = await running.open();
  person.page.setDefaultTimeout(PATIENCE_MS);
  await person.signIn();
});
afterEach(async () => {
  expect(person.problems).toEqual([]);
  await person.page.context().close();
});

const LONG = 'A long text of many words. '.repeat(200);
const HOSTILE = '<img src=x onerror="document.title=\'taken\'"> <script>document.title="taken"</script>';

const CONVERSATION = [
  { role: 'user', content: `My mail is ann.lee@example.com. ${HOSTILE}` },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'I look it up.' },
      { type: 'tool_use', id: 'toolu_1', name: 'find_customer', input: { mail: 'ann.lee@example.com' } },
    ],
  },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '{"name":"Ann"}' }] },
  { role: 'user', content: LONG },
];

async function send(model: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`${running.stack.edgeUrl}/v1/messages`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${running.stack.key}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify({ model, max_tokens: 64, system: 'Be brief.', messages: CONVERSATION }),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  return response.headers.get('request-id') ?? '';
}

async function openRequest(requestId: string) {
  await person.page.goto(`/console/requests?request=${requestId}`);
  const content = person.page.getByRole('dialog').getByRole('region', { name: 'Content' });
  await content.waitFor();
  return content;
}

test('the content of a request is shown as a conversation when a person asks for it, and the reading is in the audit log', async () => {
  const { page } = person;
  const content = await openRequest(await send('claude-with-content'));
  await content.getByText('Each view is recorded in the audit log.').waitFor();
  await content.getByRole('button', { name: 'Show content' }).click();
  const asked = content.getByRole('list', { name: 'Request' });
  await asked.getByText('My mail is [email].').waitFor();
  await asked.getByText('Be brief.').waitFor();
  await asked.getByText('<script>').waitFor();
  expect(await page.title()).not.toBe('taken');
  await content.getByText('email × 2').waitFor();
  await asked.getByText('Tool call find_customer').click();
  await asked.getByText('"mail": "[email]"').waitFor();
  await asked.getByText('Tool result toolu_1').click();
  await asked.getByText('"name": "Ann"').waitFor();
  await asked.getByRole('button', { name: /^Show all 5,\d{3} characters$/ }).click();
  await asked.getByRole('button', { name: 'Show less' }).waitFor();
  await content.getByRole('list', { name: 'Answer' }).getByText('assistant').waitFor();

  for (const [colorScheme, rules] of [
    ['light', undefined],
    ['dark', ['color-contrast']],
  ] as const) {
    await showIn(page, colorScheme);
    expect(await seriousViolations(page, rules)).toEqual([]);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  await expect
    .poll(() => page.evaluate('document.documentElement.scrollWidth'), { timeout: PATIENCE_MS })
    .toBe(360);

  await page.setViewportSize({ width: 1280, height: 720 });
  await page.goto('/console/audit');
  await page.getByRole('row').filter({ hasText: 'Content read' }).first().waitFor();
});

test('what hooks did to a request is on its page', async () => {
  const { page } = person;
  await openRequest(await send('claude-checked'));
  const checks = page.getByRole('dialog').getByRole('region', { name: 'Checks by hooks' });
  const passed = checks.getByText('The check failed, and the text passed unchecked.');
  await passed.last().waitFor();
  expect(await passed.count()).toBe(2);
  for (const [colorScheme, rules] of [
    ['light', undefined],
    ['dark', ['color-contrast']],
  ] as const) {
    await showIn(page, colorScheme);
    expect(await seriousViolations(page, rules)).toEqual([]);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  await expect
    .poll(() => page.evaluate('document.documentElement.scrollWidth'), { timeout: PATIENCE_MS })
    .toBe(360);
  await page.setViewportSize({ width: 1280, height: 720 });
});

test('of what is not logged it is said why', async () => {
  const optedOut = await openRequest(await send('claude-quiet', { 'x-gateway-content-log': 'off' }));
  await optedOut.getByText('Not logged: the caller opted out.').waitFor();
  const off = await openRequest(await send('gpt-5.2'));
  await off.getByText('Not logged: no rule of the content log applied to this request.').waitFor();
});

test('the requests of a session are shown as one conversation, each with what it adds', async () => {
  const { page } = person;
  const session = { 'x-gateway-session': `visit-${Date.now()}` };
  const first = await send('claude-with-content', session);
  const second = await send('claude-with-content', session);
  const content = await openRequest(second);
  await content.getByRole('button', { name: 'Show conversation' }).click();
  const conversation = content.getByRole('region', { name: 'Conversation' });
  await conversation.getByText('2 requests of session').waitFor();
  await conversation.getByText('this request').waitFor();
  await conversation.getByRole('list', { name: 'Answer' }).nth(1).waitFor();
  expect(await seriousViolations(page)).toEqual([]);
  await conversation.getByRole('link', { name: 'Open request' }).click();
  await page.getByRole('dialog').getByLabel('Request ID', { exact: true }).getByText(first).waitFor();
});
