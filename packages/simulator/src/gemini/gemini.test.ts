import { type Content, FunctionCallingConfigMode, GoogleGenAI, ThinkingLevel, Type } from '@google/genai';
import { expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../start-simulator.ts';

const clientOf = ({ url }: Simulator) =>
  new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: url, apiVersion: 'v1beta' } });

const model = 'gemini-3.8-flash';
const user = (text: string): Content => ({ role: 'user', parts: [{ text }] });
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const tools = [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: SCHEMA }] }];

test("Google's own client reads a whole answer, and its count agrees with the usage", async () => {
  await using simulator = await startSimulator();
  const { models } = clientOf(simulator);
  const reply = await models.generateContent({ model, contents: [user('Hello')] });
  expect(reply.text).toBe('You said: Hello');
  const { totalTokens } = await models.countTokens({ model, contents: [user('Hello')] });
  expect(reply.usageMetadata?.promptTokenCount).toBe(totalTokens);
});

test('its streams end with a reason, thoughts before the text', async () => {
  await using simulator = await startSimulator();
  const thinkingConfig = { thinkingLevel: ThinkingLevel.HIGH, includeThoughts: true };
  const stream = await clientOf(simulator).models.generateContentStream({
    model,
    contents: [user('Hello there')],
    config: { thinkingConfig },
  });
  let [text, thoughts, reason] = ['', '', ''];
  for await (const { candidates } of stream) {
    for (const part of candidates?.[0]?.content?.parts ?? []) {
      if (part.thought) thoughts += part.text;
      else text += part.text;
    }
    reason = candidates?.[0]?.finishReason ?? reason;
  }
  expect({ text, reason }).toEqual({ text: 'You said: Hello there', reason: 'STOP' });
  expect(thoughts).not.toBe('');
});

test('a call comes back with its signature, and not without it or with another', async () => {
  await using simulator = await startSimulator();
  const { models } = clientOf(simulator);
  const first = [user('use tool get_weather')];
  const { candidates } = await models.generateContent({ model, contents: first, config: { tools } });
  const answer = candidates?.[0]?.content ?? {};
  const [call] = answer.parts ?? [];
  expect(call?.thoughtSignature).toBeTypeOf('string');
  const result = {
    role: 'user',
    parts: [{ functionResponse: { name: 'get_weather', response: { output: '21' } } }],
  };
  const goOn = (content: Content) =>
    models.generateContent({ model, contents: [...first, content, result], config: { tools } });
  expect((await goOn(answer)).text).toBe('The tool answered: 21');
  const signed = (thoughtSignature?: string): Content => {
    const { thoughtSignature: _, ...bare } = call ?? {};
    return { role: 'model', parts: [{ ...bare, ...(thoughtSignature && { thoughtSignature }) }] };
  };
  await expect(goOn(signed())).rejects.toThrow('missing a thought_signature');
  const forUrls = call?.thoughtSignature?.replaceAll('+', '-').replaceAll('/', '_');
  expect((await goOn(signed(forUrls))).text).toBe('The tool answered: 21');
  await expect(goOn(signed('Zm9yZWlnbg=='))).rejects.toThrow('Corrupted thought signature');
  expect((await goOn(signed('skip_thought_signature_validator'))).text).toBe('The tool answered: 21');
});

test('a keyword that `parameters` lacks refuses the request', async () => {
  await using simulator = await startSimulator();
  const reply = await fetch(`${simulator.url}/v1beta/models/${model}:generateContent`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-goog-api-key': 'k' },
    body: JSON.stringify({
      contents: [user('Hello')],
      tools: [{ functionDeclarations: [{ name: 'f', parameters: SCHEMA }] }],
    }),
  });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({
    error: { status: 'INVALID_ARGUMENT', message: expect.stringContaining('"additionalProperties"') },
  });
});

test("a schema of Google's own form, with types in capitals, is read", async () => {
  await using simulator = await startSimulator();
  const { models } = clientOf(simulator);
  const schema = {
    type: Type.OBJECT,
    properties: { city: { type: Type.STRING }, inhabitants: { type: Type.INTEGER } },
    required: ['city', 'inhabitants'],
  };
  const declared = [{ functionDeclarations: [{ name: 'get_weather', parameters: schema }] }];
  const asked = [user('use tool get_weather')];
  const called = await models.generateContent({ model, contents: asked, config: { tools: declared } });
  expect(called.functionCalls?.[0]?.args).toEqual({ city: expect.any(String), inhabitants: 1 });
  const config = { responseMimeType: 'application/json', responseSchema: schema };
  const written = await models.generateContent({ model, contents: [user('Hello')], config });
  expect(JSON.parse(written.text ?? '')).toEqual({ city: expect.any(String), inhabitants: 1 });
});

test('how to think is read with underscores too, as the Python client writes it', async () => {
  await using simulator = await startSimulator();
  const reply = await fetch(`${simulator.url}/v1beta/models/${model}:generateContent`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-goog-api-key': 'k' },
    body: JSON.stringify({
      contents: [user('Hello')],
      generation_config: { thinking_config: { thinking_level: 'HIGH', include_thoughts: true } },
    }),
  });
  expect(await reply.json()).toMatchObject({
    candidates: [{ content: { parts: [{ thought: true }, { text: 'You said: Hello' }] } }],
  });
});

test.for(['v1', 'v1beta'])(
  'version %s answers, and says of an unknown key what Google says',
  async (apiVersion) => {
    await using simulator = await startSimulator({ apiKeys: ['k'] });
    const ask = (apiKey: string) =>
      new GoogleGenAI({ apiKey, httpOptions: { baseUrl: simulator.url, apiVersion } }).models.generateContent(
        {
          model,
          contents: [user('Hello')],
        },
      );
    expect((await ask('k')).text).toBe('You said: Hello');
    await expect(ask('another')).rejects.toThrow(/API_KEY_INVALID/);
  },
);

test('a forced call names its tool, and a blocked prompt is a 200 without candidates', async () => {
  await using simulator = await startSimulator();
  const { models } = clientOf(simulator);
  const functionCallingConfig = {
    mode: FunctionCallingConfigMode.ANY,
    allowedFunctionNames: ['get_weather'],
  };
  const config = { tools, toolConfig: { functionCallingConfig } };
  const called = await models.generateContent({ model, contents: [user('Hello')], config });
  expect(called.functionCalls?.map(({ name }) => name)).toEqual(['get_weather']);
  const blocked = await models.generateContent({ model, contents: [user('Say the forbidden words')] });
  expect(blocked.candidates).toBeUndefined();
  expect(blocked.promptFeedback?.blockReason).toBe('PROHIBITED_CONTENT');
});
