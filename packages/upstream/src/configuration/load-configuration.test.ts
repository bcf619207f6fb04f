import { expect, test } from 'vitest';
import { createCatalog, NO_LOADS } from '../catalog.ts';
import { loadConfiguration } from './load-configuration.ts';

const noFile = async (): Promise<string> => {
  throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
};
const load = (env: Record<string, string>) =>
  loadConfiguration({ path: 'gateway.yaml', env, readFile: noFile });

const channelOf = async (env: Record<string, string>, name: string) => {
  const catalog = createCatalog(await load(env), { random: Math.random, loads: NO_LOADS });
  return catalog.resolveModel(name)?.routes[0]?.channel.name ?? null;
};

test('without a file, channels come from the provider keys in the environment', async () => {
  const both = { OPENAI_API_KEY: 'sk-a', ANTHROPIC_API_KEY: 'sk-b' };
  expect((await load(both)).source).toBe('environment');
  expect(await channelOf(both, 'gpt-5.2')).toBe('openai');
  expect(await channelOf(both, 'claude-sonnet-5')).toBe('anthropic');
  expect(await channelOf({ ANTHROPIC_API_KEY: 'sk-b' }, 'gpt-5.2')).toBe(null);
});

test('without a file and without keys, the simulator serves the same names over the same protocols', async () => {
  const configuration = await load({ SIMULATOR_URL: 'http://simulator:9', OPENAI_API_KEY: '' });
  expect(configuration.source).toBe('simulator');
  const catalog = createCatalog(configuration, { random: Math.random, loads: NO_LOADS });
  const model = catalog.resolveModel('claude-sonnet-5');
  expect(model?.routes[0]?.channel).toMatchObject({ origin: 'http://simulator:9', speaks: ['messages'] });
  expect(model?.routes[0]?.channel.paths.messages).toBe('/v1/messages');
});

test.for([
  ['gpt-5.2', 'text', null],
  ['o3-mini', 'text', null],
  ['chatgpt-4o-latest', 'text', null],
  ['gpt-image-2', 'image', 'gpt-image'],
  ['dall-e-3', 'image', 'dall-e-3'],
  ['tts-1-hd', 'speech', 'tts-1'],
  ['gpt-4o-mini-tts-2025-12-15', 'speech', 'gpt-4o-mini-tts'],
  ['whisper-1', 'transcription', 'whisper-1'],
  ['gpt-4o-mini-transcribe', 'transcription', 'gpt-4o-transcribe'],
  ['gpt-4o-transcribe-diarize', 'transcription', 'gpt-4o-transcribe-diarize'],
  ['gpt-transcribe', 'transcription', 'gpt-transcribe'],
] as const)('without a file, %s is a model of the kind %s', async ([name, kind, family]) => {
  const catalog = createCatalog(await load({}), { random: Math.random, loads: NO_LOADS });
  expect(catalog.resolveModel(name)).toMatchObject({ kind, family });
});

test('a file that GATEWAY_CONFIG names must exist', async () => {
  await expect(load({ GATEWAY_CONFIG: 'gateway.yaml' })).rejects.toThrow(
    'found no such file, expected the configuration that GATEWAY_CONFIG names',
  );
});

test('a file that cannot be read is a mistake, not a missing file', async () => {
  const readFile = async (): Promise<string> => {
    throw Object.assign(new Error('no'), { code: 'EACCES' });
  };
  await expect(loadConfiguration({ path: 'g.yaml', env: {}, readFile })).rejects.toThrow('EACCES');
});
