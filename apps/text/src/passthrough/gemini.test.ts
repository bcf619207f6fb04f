import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../testing/start-stack.ts';
import { testTokens } from '../testing/test-context.ts';
import { signatureOf } from '../wire/tokens/signature-token.ts';

/** Google's clients before a channel that speaks their protocol. */

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first) => `
channels:
  google: { provider: gemini, baseUrl: "${first}/v1beta", apiKey: a-key-of-mine, cooldown: off }
models:
  own: { kind: text, routes: [{ channel: google, model: gemini-3.8-flash }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => stack.first.reset());

const ODD = `{ "contents" :\t[{"role":"user","parts":[{"text":"What is up?"}]}],\r\n "generationConfig":{"seed":1.0e0} } `;

const post = (verb: string, body: Buffer) =>
  stack.text.fetch(`/v1beta/models/own:${verb}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });

test.for(['generateContent', 'streamGenerateContent?alt=sse'])(
  '%s: no byte of a request changes',
  async (verb) => {
    const response = await post(verb, Buffer.from(ODD));
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('gemini-3.8-flash');
    const { url, body } = await stack.first.nextRequest();
    expect(url).toBe(`/v1beta/models/gemini-3.8-flash:${verb}`);
    expect(body.toString()).toBe(ODD);
  },
);

test('reasoning of another vendor is left out, and its call marked as one without a signature', async () => {
  const seal = testTokens.seal({ vendor: 'anthropic', kind: 'signature', data: 'x', texts: ['hm'] });
  const contents = [
    { role: 'user', parts: [{ text: 'Go' }] },
    {
      role: 'model',
      parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: signatureOf(seal) }],
    },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'done' } } }] },
  ];
  await post('generateContent', Buffer.from(JSON.stringify({ contents })));
  const { body } = await stack.first.nextRequest();
  const sent = body.toString();
  expect(sent).not.toContain(signatureOf(seal));
  expect(sent).toContain('skip_thought_signature_validator');
  expect(JSON.parse(sent)).not.toHaveProperty('model');
});

const foreign = signatureOf(
  testTokens.seal({ vendor: 'anthropic', kind: 'signature', data: 'x', texts: ['hm'] }),
);

test.for([
  ['in the other spelling', [{ role: 'model', parts: [{ text: 'a', thought_signature: foreign }] }]],
  ['of a part by itself', [{ role: 'model', parts: { text: 'a', thoughtSignature: foreign } }]],
  ['of a content by itself', { role: 'user', parts: { text: 'a', thoughtSignature: foreign } }],
  [
    'before which it was shown',
    [
      {
        parts: [
          { text: 'hm', thought: true },
          { text: 'a', thoughtSignature: foreign },
        ],
      },
    ],
  ],
  [
    'beside half a million characters',
    [{ parts: [{ text: 'w'.repeat(600_000) }, { text: 'a', thoughtSignature: foreign }] }],
  ],
] as const)('reasoning of another vendor is left out %s', async ([, contents]) => {
  const response = await post('generateContent', Buffer.from(JSON.stringify({ contents })));
  const { body } = await stack.first.nextRequest();
  const sent = body.toString();
  expect(sent).not.toContain(foreign);
  expect(sent).not.toContain('hm');
  expect(sent).toContain('"text":"a"');
  expect(response.headers.get('x-gateway-dropped')).toContain('thoughtSignature');
});
