import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { environmentConfiguration } from '@gateway/upstream/configuration/environment-configuration';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { expect, test } from 'vitest';
import { quoted, sampleCommand } from './sample-command.ts';

const options = {
  edgeUrl: 'http://127.0.0.1:8080',
  authorization: quoted("Authorization: Bearer a key's"),
};

/** The words that a shell makes of a command. */
async function words(command: string): Promise<string[]> {
  const show = `curl() { printf '%s\\n' "$@"; }\n${command}`;
  return (await promisify(execFile)('sh', ['-c', show])).stdout.split('\n');
}

test('a shell reads the command as intended, whatever the key', async () => {
  expect(await words(sampleCommand(environmentConfiguration({}), options))).toEqual([
    'http://127.0.0.1:8080/v1/responses',
    '-H',
    'content-type: application/json',
    '-H',
    "Authorization: Bearer a key's",
    '-d',
    '{"model":"gpt-5.6-sol","input":"Say hello in one sentence."}',
    '',
  ]);
});

const configurationOf = (models: string) =>
  parseConfiguration(
    `
channels:
  local: { provider: openai-compatible, baseUrl: "http://127.0.0.1:8000/v1", speaks: [chat, embeddings] }
models:
${models}`,
    'gateway.yaml',
    {},
  );

test("a team's own names come before the usual ones", () => {
  const configuration = configurationOf(`
  "gpt-*": { kind: text, routes: [{ channel: local }] }
  house-model: { kind: text, routes: [{ channel: local }] }`);
  expect(sampleCommand(configuration, options)).toContain('"model":"house-model"');
});

test('without a text model it is the list of models that is asked for', async () => {
  const configuration = configurationOf('  house-vectors: { kind: embedding, routes: [{ channel: local }] }');
  expect(await words(sampleCommand(configuration, options))).toEqual([
    'http://127.0.0.1:8080/v1/models',
    '-H',
    "Authorization: Bearer a key's",
    '',
  ]);
});
