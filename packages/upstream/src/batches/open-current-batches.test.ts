import { expect, onTestFinished, test } from 'vitest';
import type { Configuration } from '../configuration/configuration.ts';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import { json, startProvider } from '../provider-for-tests.ts';
import { openCurrentBatches } from './open-current-batches.ts';

test('what a provider is at work at is asked for where its channel hands no further batches on', async () => {
  const provider = await startProvider((response) =>
    json(response, { id: 'batch_1', status: 'in_progress' }),
  );
  const { channels } = parseConfiguration(
    `channels: { c: { provider: openai, baseUrl: "${provider.origin}/v1", apiKey: sk-first } }\nmodels: {}`,
    'gateway.yaml',
    {},
  );
  const batches = { paths: { openai: { files: '/v1/files', batches: '/v1/batches' } }, priceFactor: 0.5 };
  const upstream = {
    configuration: { ...parseConfiguration('channels: {}\nmodels: {}', 'c', {}), channels },
  };
  const api = openCurrentBatches(upstream, { channel: 'c', account: 'default', batches }, 'chat');
  onTestFinished(() => api?.close());
  expect((await api?.look('batch_1', new AbortController().signal))?.id).toBe('batch_1');
});

test('a key that is replaced while a provider is at work is used from then on; one that is removed is used still', async () => {
  const provider = await startProvider((response) =>
    json(response, { id: 'batch_1', status: 'in_progress' }),
  );
  const withKey = (key: string): Configuration =>
    parseConfiguration(
      `channels: { c: { provider: openai, baseUrl: "${provider.origin}/v1", apiKey: ${key}, batches: provider } }\nmodels: {}`,
      'gateway.yaml',
      {},
    );
  const upstream = { configuration: withKey('sk-first') };
  const { batches } = upstream.configuration.channels.get('c') ?? {};
  if (!batches) throw new Error('the channel does no batches');
  const place = { channel: 'c', account: 'default', batches };
  const api = openCurrentBatches(upstream, place, 'chat');
  onTestFinished(() => api?.close());
  const { signal } = new AbortController();
  await api?.look('batch_1', signal);
  upstream.configuration = withKey('sk-second');
  await api?.look('batch_1', signal);
  upstream.configuration = parseConfiguration('channels: {}\nmodels: {}', 'gateway.yaml', {});
  await api?.look('batch_1', signal);
  expect(provider.requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer sk-first',
    'Bearer sk-second',
    'Bearer sk-second',
  ]);
});
