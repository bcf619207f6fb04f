import type { RunningConsole } from './run-console.ts';

const MESSAGE = [{ role: 'user', content: 'Say hello in three languages.' }];

/** Requests of several kinds: streamed, by another provider, translated with a loss, failed, and a priced image. */
const REQUESTS: readonly { path: string; body: object }[] = [
  { path: '/v1/responses', body: { model: 'gpt-5.2', input: 'Say hello.' } },
  { path: '/v1/responses', body: { model: 'gpt-5.2', input: 'Tell a story.', stream: true } },
  { path: '/v1/messages', body: { model: 'gpt-5.2', max_tokens: 64, top_k: 5, messages: MESSAGE } },
  { path: '/v1/chat/completions', body: { model: 'gpt-5.2', messages: MESSAGE } },
  { path: '/v1/images/generations', body: { model: 'dall-e-3', prompt: 'A lighthouse.' } },
  { path: '/v1/chat/completions', body: { model: 'gpt-5.2', messages: MESSAGE, stream: true } },
];

/** Sends requests, the last of them answered after its channel's other account was at its rate limit. Returns that one's id. */
export async function seedTraffic(
  { stack, simulator }: Pick<RunningConsole, 'stack' | 'simulator'>,
  keys: readonly string[],
): Promise<{ requestId: string }> {
  const send = async (key: string, { path, body }: (typeof REQUESTS)[number]): Promise<string> => {
    const response = await fetch(`${stack.edgeUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await response.arrayBuffer();
    return response.headers.get('x-request-id') ?? '';
  };
  for (const request of REQUESTS) for (const key of keys) await send(key, request);
  const [key = ''] = keys;
  simulator.script('/v1/responses', {
    status: 400,
    json: {
      error: { message: 'This request is refused.', type: 'invalid_request_error', code: null, param: null },
    },
  });
  await send(key, { path: '/v1/responses', body: { model: 'gpt-5.2', input: 'Be refused.' } });
  simulator.script('/v1/responses', {
    status: 429,
    headers: { 'retry-after': '1' },
    json: {
      error: { message: 'Rate limit reached.', type: 'requests', code: 'rate_limit_exceeded', param: null },
    },
  });
  const requestId = await send(key, {
    path: '/v1/messages',
    body: { model: 'gpt-5.2', max_tokens: 64, top_k: 5, messages: MESSAGE, stream: true },
  });
  return { requestId };
}
