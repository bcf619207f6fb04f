/** What a program on a page leaves to its reader: what is there before it, and what is done with what it has made. */
export interface Surroundings {
  /** Only this program has it. */
  readonly has: string;
  readonly before?: string;
  readonly after?: string;
  /** What its reader fills in. */
  readonly filledIn?: readonly [string | RegExp, string];
}

const OPENAI = `import OpenAI from 'openai';
const openai = new OpenAI({ baseURL: 'http://127.0.0.1:8080/v1', apiKey: KEY });`;

/** A secret of the form that the gateway makes. */
const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;

export const SURROUNDINGS: readonly Surroundings[] = [
  {
    has: 'createAnthropic({',
    after: `import { generateText } from 'ai';
for (const model of [openai('gpt-5.2'), openai.chat('gpt-5.2'), anthropic('claude-sonnet-5-5')])
  if ((await generateText({ model, prompt: 'Say hello.' })).text === '') throw new Error('no text');`,
  },
  {
    has: 'new ResponsesWS(',
    before: OPENAI,
    after: `await new Promise((resolve, reject) => {
  socket.on('response.completed', resolve);
  socket.on('error', reject);
});
socket.close();`,
  },
  {
    has: 'new OpenAIRealtimeWS(',
    before: `import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
let played = 0;
const play = (sound: Buffer) => { played += sound.length; };`,
    after: `await new Promise((resolve, reject) => {
  socket.on('response.done', resolve);
  socket.on('error', reject);
});
socket.close();
if (played === 0) throw new Error('no sound');`,
  },
  {
    has: 'new Webhook(',
    before: `const body = JSON.stringify({ type: 'job.completed', data: { id: 'job_1' } });
const signer = new Webhook('${WEBHOOK_SECRET}');
const sentAt = new Date();
const headers = {
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
  'webhook-signature': signer.sign('msg_1', sentAt, body),
};`,
    after: `if (data.id !== 'job_1') throw new Error('another body');`,
    filledIn: ['whsec_…', WEBHOOK_SECRET],
  },
  {
    has: 'class GatewayClient',
    after: `const images = await openai.images.generate({ model: 'dall-e-3', prompt: 'A lighthouse at dusk' });
if (!images.data?.[0]?.url) throw new Error('no image');`,
  },
  {
    has: 'await generateImage(',
    before: `import { createOpenAI } from '@ai-sdk/openai';
import { generateImage } from 'ai';
const openai = createOpenAI({ baseURL: 'http://127.0.0.1:8080/v1', apiKey: KEY });
const prompt = 'A lighthouse at dusk';`,
  },
  {
    has: 'openai.batches.create(',
    before: `import fs from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
${OPENAI}
const line = { custom_id: 'row-1', method: 'POST', url: '/v1/chat/completions', body: { model: 'gpt-5.2', messages: [{ role: 'user', content: 'Hello' }] } };
fs.writeFileSync('requests.jsonl', JSON.stringify(line));`,
    filledIn: [
      /^\/\/ later$/m,
      "while ((await openai.batches.retrieve(batch.id)).status !== 'completed') await wait(200);",
    ],
    after: `if (status !== 'completed' || request_counts?.completed !== 1 || error_file_id) throw new Error(status);
if (JSON.parse(lines).custom_id !== 'row-1') throw new Error(lines);`,
  },
];

/** A program as its reader would have it in a file, with the key in the environment. */
export function wholeProgram(
  text: string,
  { before = '', after = '', filledIn: [from, to] = ['', ''] }: Surroundings,
): string {
  return ["const KEY = process.env.KEY ?? '';", before, text.replace(from, to), after].join('\n');
}
