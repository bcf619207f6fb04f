import { BLOCKED, intervened, NONE } from '@gateway/testkit/start-hook-server';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ask, type HookedStack, spentBy, startHooked } from '../../testing/hooked-stack.ts';
import { PAIRS, TEXT_PROTOCOLS } from '../../testing/text-pairs.ts';

let hooked: HookedStack;
beforeAll(async () => {
  hooked = await startHooked();
});
afterAll(() => hooked[Symbol.asyncDispose]());
afterEach(() => {
  hooked.hook.reset();
  hooked.stack.first.reset();
  hooked.stack.second.reset();
});

const BOTH = [false, true];
const CASES = PAIRS.flatMap(({ caller, target }) => BOTH.map((stream) => ({ caller, target, stream })));
const OWN = TEXT_PROTOCOLS.flatMap((caller) => BOTH.map((stream) => ({ caller, stream })));
/** What blocks an answer ends by, as each protocol says it. */
const REFUSAL = { responses: 'content_filter', messages: 'refusal', chat: 'content_filter' };
const END = { responses: 'completed', messages: 'end_turn', chat: 'stop' };
/** Long enough for several windows. */
const LONG = 'One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen.';

const lineOf = (keyId: string) =>
  waitFor(() =>
    hooked.stack.text.lines.find((line) => line.requestId === `req_${keyId}` && 'outcome' in line),
  );

test.for(CASES)(
  '$caller to $target, stream $stream: a blocked request is a 400 that costs nothing',
  async (it) => {
    const { stack, hook } = hooked;
    hook.answer(() => BLOCKED);
    const got = await ask(stack, it.caller, `before-${it.target}`, 'Bad words', { stream: it.stream });
    expect(got.status).toBe(400);
    expect(got.body).toMatchObject({
      error: {
        type: 'invalid_request_error',
        message: expect.stringContaining("blocked by the check 'before'. Its reason: it is on the list"),
        ...(it.caller !== 'messages' && { code: 'content_filter' }),
      },
    });
    expect(got.headers.get('x-should-retry')).toBe('false');
    expect(stack.first.requests).toHaveLength(0);
    expect(await spentBy(stack, got.keyId)).toBe(0);
    expect(await lineOf(got.keyId)).toMatchObject({
      hooks: expect.stringMatching(/^before\/input=blocked;ms=\d+$/),
      'error.code': 'guardrail_blocked',
    });
    const page = await stack.text.metrics.registry.metrics();
    expect(page).toMatch(/gateway_refused_total\{reason="guardrail",service="text"\} \d/);
  },
);

test.for(CASES)('$caller to $target, stream $stream: texts are replaced by position', async (it) => {
  const { stack, hook } = hooked;
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replace('Ada', '[NAME]'))));
  const got = await ask(stack, it.caller, `before-${it.target}`, 'I am Ada', { stream: it.stream });
  expect(got).toMatchObject({ status: 200, text: 'You said: I am [NAME]', end: END[it.caller] });
  expect(String(stack.first.requests[0]?.body)).not.toContain('Ada');
});

test.for(CASES)(
  '$caller to $target, stream $stream: an answer is blocked by its own protocol',
  async (it) => {
    const { stack, hook } = hooked;
    hook.answer(({ texts }) => (texts.some((text) => text.includes('eight')) ? BLOCKED : NONE));
    const got = await ask(stack, it.caller, `window-${it.target}`, LONG, { stream: it.stream });
    expect(got.status).toBe(200);
    expect(got.raw).not.toContain('eight');
    // A translated refusal that is the whole answer has words.
    if (it.stream || it.caller === it.target) expect(got.end).toBe(REFUSAL[it.caller]);
    else expect(['', "I can't help with that."]).toContain(got.text);
    if (it.stream) expect(got.text).toContain('You said: One');
    const line = await lineOf(got.keyId);
    expect(line).toMatchObject({ hooks: expect.stringMatching(/^window\/output=blocked;ms=\d+/) });
    const spent = await spentBy(stack, got.keyId);
    // What the provider reports; of a cut stream, what its caller got.
    expect(spent).toBe(Number(line.inputTokens) + Number(line.outputTokens));
    expect(spent).toBeGreaterThan(0);
  },
);

test.for(CASES)(
  '$caller to $target, stream $stream: texts of an answer are replaced everywhere',
  async (it) => {
    const { stack, hook } = hooked;
    hook.answer(({ texts }) => intervened(texts.map((text) => text.replaceAll('eight', '[8]'))));
    const got = await ask(stack, it.caller, `window-${it.target}`, LONG, { stream: it.stream });
    expect(got).toMatchObject({
      status: 200,
      text: `You said: ${LONG.replace('eight', '[8]')}`,
      end: END[it.caller],
    });
    expect(got.raw).not.toContain('eight');
    expect(await lineOf(got.keyId)).not.toHaveProperty('usageEstimated');
  },
);

test.for(OWN)(
  '$caller, stream $stream: what no hook changes has the same bytes',
  async ({ caller, stream }) => {
    const { stack } = hooked;
    const reply = { text: LONG };
    stack.first.script(reply);
    const plain = await ask(stack, caller, `report-${caller}`, LONG, { stream });
    stack.first.script(reply);
    const checked = await ask(stack, caller, `window-${caller}`, LONG, { stream });
    stack.first.script(reply);
    const whole = await ask(stack, caller, `whole-${caller}`, LONG, { stream });
    const withoutIds = (raw: string) =>
      raw
        .replaceAll(/(?:resp|msg|chatcmpl|item|fc|rs)[_-][A-Za-z0-9_-]+/g, 'id')
        .replaceAll(/"(?:created|created_at|completed_at)":\d+/g, '"at":0')
        .replaceAll(/"obfuscation":"[^"]*"/g, '');
    const names = (raw: string) => withoutIds(raw).replaceAll(/(?:report|window|whole)-\w+/g, 'model');
    expect(names(checked.raw)).toBe(names(plain.raw));
    expect(names(whole.raw)).toBe(names(plain.raw));
  },
);

test.for(OWN)(
  '$caller, stream $stream: a request that is blocked beside the call',
  async ({ caller, stream }) => {
    const { stack, hook } = hooked;
    hook.answer(() => BLOCKED);
    const got = await ask(stack, caller, `beside-${caller}`, 'Bad words', { stream });
    expect(got.status).toBe(400);
    expect(stack.first.requests).toHaveLength(1);
    // Its provider may bill what it was sent.
    const spent = await spentBy(stack, got.keyId);
    expect(spent).toBeGreaterThan(0);
  },
);

test.for(OWN)(
  '$caller, stream $stream: a check beside the call holds the first output',
  async ({ caller, stream }) => {
    const { stack, hook } = hooked;
    const verdict = Promise.withResolvers<typeof NONE>();
    hook.answer(() => verdict.promise);
    const asked = ask(stack, caller, `beside-${caller}`, 'Hello', { stream });
    // The provider is asked although there is no verdict yet.
    await stack.first.nextRequest(() => true);
    await waitFor(() => hook.requests.length === 1 || undefined);
    verdict.resolve(NONE);
    expect(await asked).toMatchObject({ status: 200, text: 'You said: Hello' });
  },
);

test.for(OWN)('$caller, stream $stream: a report changes nothing', async ({ caller, stream }) => {
  const { stack, hook } = hooked;
  hook.answer(() => BLOCKED);
  const got = await ask(stack, caller, `report-${caller}`, LONG, { stream });
  expect(got).toMatchObject({ status: 200, text: `You said: ${LONG}`, end: END[caller] });
  const said = await waitFor(() =>
    stack.text.lines.find(
      ({ msg, requestId }) => /reports an answer/.test(String(msg)) && requestId === `req_${got.keyId}`,
    ),
  );
  expect(said).toMatchObject({ hook: 'report' });
  expect(hook.requests[0]?.texts).toEqual([`You said: ${LONG}`]);
});

const FAULTS = {
  nonsense: { json: { action: 'MAYBE' } },
  'no JSON': { raw: '<html>' },
  'a 500': { json: {}, status: 500 },
  'a redirect': { json: { action: 'NONE' }, status: 307, headers: { location: '/elsewhere' } },
  'a lie about the count': intervened(['one', 'two', 'three', 'four', 'five']),
  'an intervention without texts': { json: { action: 'GUARDRAIL_INTERVENED' } },
  'an end': { fault: 'die' },
  silence: { fault: 'hang' },
} as const;
// One by one: a hook that fails repeatedly rests.
const NAMES = ['nonsense', 'a redirect', 'a lie about the count', 'silence'] as const;

test.for(NAMES)('a hook that answers with %s blocks where it must not fail', async (fault) => {
  const { stack, hook } = hooked;
  hook.answer(() => FAULTS[fault]);
  const got = await ask(stack, 'chat', 'before-chat', 'Hello');
  expect(got.status).toBe(503);
  expect(got.body).toMatchObject({ error: { code: 'guardrail_unavailable' } });
  expect(got.raw).not.toContain('hook-secret-key');
  expect(stack.first.requests).toHaveLength(0);
  expect(await spentBy(stack, got.keyId)).toBe(0);
  expect(await lineOf(got.keyId)).toMatchObject({ hooks: expect.stringMatching(/^before\/input=failed;/) });
  hook.answer(() => NONE);
  expect(await ask(stack, 'chat', 'before-chat', 'Hello')).toMatchObject({ status: 200 });
});

test('a hook that may fail lets its texts pass, and says so', async () => {
  const { stack, hook } = hooked;
  hook.answer(() => FAULTS['an end']);
  const got = await ask(stack, 'messages', 'open-messages', 'Hello', { stream: true });
  expect(got).toMatchObject({ status: 200, text: 'You said: Hello', end: 'end_turn' });
  expect(await lineOf(got.keyId)).toMatchObject({
    hooks: expect.stringMatching(/^open\/input=failed_open;ms=\d+, open\/output=failed_open;ms=\d+$/),
  });
  const page = await stack.text.metrics.registry.metrics();
  expect(page).toMatch(
    /gateway_hook_checks_total\{hook="open",side="input",result="failed_open",service="text"\} \d/,
  );
  const warned = stack.text.lines.filter(({ msg }) => msg === 'a check by a hook failed');
  expect(JSON.stringify(warned)).not.toMatch(/hook-secret-key|Hello/);
});

test.for(BOTH)('an answer that cannot be checked is not shown, stream %s', async (stream) => {
  const { stack, hook } = hooked;
  hook.answer(() => FAULTS['a 500']);
  const got = await ask(stack, 'messages', 'window-messages', LONG, { stream });
  expect(got).toMatchObject({ status: 200, text: '', end: 'refusal' });
  expect(await lineOf(got.keyId)).toMatchObject({ hooks: expect.stringContaining('window/output=failed') });
});

test('a server of a hook that keeps failing is left alone', async () => {
  const { stack, hook } = hooked;
  hook.answer(() => FAULTS['a 500']);
  for (let count = 0; count < 5; count += 1) await ask(stack, 'chat', 'short-chat', 'Hello');
  const asked = hook.requests.length;
  expect((await ask(stack, 'chat', 'short-chat', 'Hello')).status).toBe(503);
  expect(hook.requests).toHaveLength(asked);
});

test('a hook that refuses one check is still asked for others', async () => {
  const { stack, hook } = hooked;
  hook.answer(({ texts }) => (texts.includes('Odd') ? { json: {}, status: 400 } : BLOCKED));
  for (let count = 0; count < 6; count += 1) await ask(stack, 'chat', 'open-chat', 'Odd');
  expect((await ask(stack, 'chat', 'open-chat', 'Bad words')).status).toBe(400);
});

test('more text than a hook takes is refused with a sentence', async () => {
  const { stack } = hooked;
  const got = await ask(stack, 'chat', 'short-responses', LONG.repeat(3));
  expect(got.status).toBe(400);
  expect(got.body).toMatchObject({
    error: {
      message: expect.stringContaining(`there are ${LONG.length * 3} characters to check, and it takes 100`),
    },
  });
});

test('a body that is large is checked too, and its answer', async () => {
  const { stack, hook } = hooked;
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replaceAll('Ada', '[NAME]'))));
  const image = `data:image/png;base64,${'A'.repeat(700_000)}`;
  const input = [
    {
      role: 'user',
      content: [
        { type: 'input_image', image_url: image },
        { type: 'input_text', text: 'I am Ada' },
      ],
    },
  ];
  const got = await ask(stack, 'responses', 'before-responses', '', { input });
  expect(got).toMatchObject({ status: 200, text: 'You said: I am [NAME]' });
  expect(hook.requests[0]?.texts).toEqual(['I am Ada']);
  const said = `Ada ${'x'.repeat(150_000)}`;
  stack.first.script({ text: said });
  const whole = await ask(stack, 'chat', 'window-chat', 'Hello');
  expect(whole.text).toBe(said.replace('Ada', '[NAME]'));
});

test('a hook gets what LiteLLM sends', async () => {
  const { stack, hook } = hooked;
  await ask(stack, 'chat', 'before-chat', 'Hello', {
    user: 'someone',
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
    ],
  });
  const [request] = hook.requests;
  expect(request?.path).toBe('/beta/litellm_basic_guardrail_api');
  expect(request?.headers['x-api-key']).toBe('hook-secret-key');
  expect(request?.body).toEqual({
    input_type: 'request',
    texts: ['Be brief', 'Hello'],
    structured_messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Hello' },
    ],
    model: 'before-chat',
    litellm_call_id: expect.stringMatching(/^req_key_hooked_/),
    litellm_trace_id: expect.stringMatching(/^req_key_hooked_/),
    request_data: {
      user_api_key_hash: expect.stringMatching(/^key_hooked_/),
      user_api_key_alias: 'one',
      user_api_key_team_id: null,
      user_api_key_team_alias: null,
      user_api_key_end_user_id: 'someone',
    },
    additional_provider_specific_params: { threshold: 0.5 },
  });
});

test('a channel that fails is replaced by the next one, and the hook is asked once', async () => {
  const { stack, hook } = hooked;
  stack.second.script({ status: 500, json: { error: { message: 'No.' } } });
  const got = await ask(stack, 'chat', 'window-second', 'Hi');
  expect(got).toMatchObject({ status: 200, text: 'You said: Hi' });
  expect(hook.requests).toHaveLength(1);
});

test('a caller who leaves during a check costs nothing', async () => {
  const { stack, hook } = hooked;
  const left = new AbortController();
  hook.answer(() => ({ fault: 'hang' }));
  const asked = ask(stack, 'chat', 'before-chat', 'Hello', { signal: left.signal }).catch(() => 'left');
  await waitFor(() => hook.requests.length === 1 || undefined);
  left.abort();
  expect(await asked).toBe('left');
  await waitFor(() => stack.text.lines.find(({ outcome }) => outcome === 'left'));
  expect(stack.first.requests).toHaveLength(0);
});

test('a model without hooks asks none', async () => {
  const { stack, hook } = hooked;
  expect(await ask(stack, 'chat', 'free', 'Hello')).toMatchObject({ status: 200, text: 'You said: Hello' });
  expect(hook.requests).toHaveLength(0);
});
