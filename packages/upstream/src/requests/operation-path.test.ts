import { expect, test } from 'vitest';
import { buildChannel } from '../configuration/build/build-channel.ts';
import { operationPath, requestPath } from './operation-path.ts';

const channelWith = (chat: Parameters<typeof operationPath>[1]) => ({
  ...buildChannel('one', { provider: 'openai', apiKey: 'a-key-of-mine' }, {}),
  paths: { chat: operationPath('/base', chat) },
});
const pathFor = (
  path: Parameters<typeof operationPath>[1],
  model: string,
  { streamed = false, asks, query }: { streamed?: boolean; asks?: boolean; query?: string } = {},
) =>
  requestPath(
    { channel: channelWith(path), model },
    { operation: 'chat', ...(asks !== undefined && { streamed: asks }), ...(query && { query }) },
    streamed,
  );

const CONVERSE = { whole: '/model/{model}/converse', streamed: '/model/{model}/converse-stream' };
const GEMINI = {
  whole: '/models/{model}:generateContent',
  streamed: '/models/{model}:streamGenerateContent?alt=sse',
};

test('an ordinary path is one text, whatever the model', () => {
  expect(operationPath('/v1', '/chat/completions')).toBe('/v1/chat/completions');
  expect(pathFor('/chat', 'any/model', { streamed: true, query: 'beta=true' })).toBe('/base/chat?beta=true');
});

test.for([
  ['us.amazon.nova-lite-v1:0', 'us.amazon.nova-lite-v1%3A0'],
  [
    'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc123',
    'arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Aapplication-inference-profile%2Fabc123',
  ],
  ['claude-sonnet-4-5@20250929', 'claude-sonnet-4-5@20250929'],
  ['a;b?c#d e%', 'a%3Bb%3Fc%23d%20e%25'],
  ["$& it's (one)*!", '%24%26%20it%27s%20%28one%29%2A%21'],
  ['{model}', '%7Bmodel%7D'],
  ['half \ud83d', 'half%20%EF%BF%BD'],
] as const)('the model %s is one segment of the path', ([model, segment]) => {
  expect(pathFor(CONVERSE, model)).toBe(`/base/model/${segment}/converse`);
  expect(pathFor('/m/{model}:rawPredict', model)).toBe(`/base/m/${segment}:rawPredict`);
});

test('a stream has a path of its own, also where only the request to the provider streams', () => {
  expect(pathFor(CONVERSE, 'nova', { streamed: true })).toBe('/base/model/nova/converse-stream');
  expect(pathFor(CONVERSE, 'nova', { streamed: false, asks: true })).toBe('/base/model/nova/converse-stream');
  expect(pathFor(CONVERSE, 'nova', { streamed: true, asks: false })).toBe('/base/model/nova/converse');
});

test('a query of the path and one of the request are joined', () => {
  expect(pathFor(GEMINI, 'g', { streamed: true, query: 'fields=a' })).toBe(
    '/base/models/g:streamGenerateContent?alt=sse&fields=a',
  );
  expect(pathFor(GEMINI, 'g', { query: 'fields=a' })).toBe('/base/models/g:generateContent?fields=a');
});
