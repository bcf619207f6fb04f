import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { environmentConfiguration } from '@gateway/upstream/configuration/environment-configuration';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { expect, test } from 'vitest';
import { quoted, sampleCommands } from './sample-commands.ts';

const options = {
  edgeUrl: 'http://127.0.0.1:8080',
  authorization: quoted("Authorization: Bearer a key's"),
  examples: '/some where',
};

/** The words that a shell makes of a command. */
async function words(command: string | null | undefined): Promise<string[]> {
  const show = `curl() { printf '%s\\n' "$@"; }\n${command}`;
  return (await promisify(execFile)('sh', ['-c', show])).stdout.split('\n');
}

test('there is a command for each endpoint, with a model that the simulator has', async () => {
  const commands = sampleCommands(environmentConfiguration({}), options);
  const urls = await Promise.all(commands.map(async ({ command }) => (await words(command))[1]));
  expect(urls.map((url) => url?.slice(options.edgeUrl.length))).toEqual([
    '/v1/responses',
    '/v1/messages',
    '/v1/chat/completions',
    '/v1/embeddings',
    '/v1/images/generations',
    '/v1/images/edits',
    '/v1/audio/speech',
    '/v1/audio/transcriptions',
  ]);
});

test('a shell reads a command as intended, for any names', async () => {
  const transcription = sampleCommands(environmentConfiguration({}), options).at(-1);
  expect(await words(transcription?.command)).toEqual([
    '-sS',
    'http://127.0.0.1:8080/v1/audio/transcriptions',
    '-H',
    "Authorization: Bearer a key's",
    '-F',
    'model=gpt-transcribe',
    '-F',
    'file=@/some where/speech.wav',
    '',
  ]);
});

test('names from the file come before usual ones, and an endpoint without a model has no command', () => {
  const file = `
channels:
  local: { provider: openai-compatible, baseUrl: "http://127.0.0.1:8000/v1", speaks: [responses] }
models:
  "gpt-*": { kind: text, routes: [{ channel: local }] }
  house-model: { kind: text, routes: [{ channel: local }] }
`;
  const commands = sampleCommands(parseConfiguration(file, 'gateway.yaml', {}), options);
  for (const { command } of commands.slice(0, 3)) expect(command).toContain('"model":"house-model"');
  expect(commands.slice(3).map(({ command }) => command)).toEqual([null, null, null, null, null]);
});
