import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, onTestFinished, test } from 'vitest';
import type { Configuration } from './configuration.ts';
import { loadConfiguration } from './load-configuration.ts';
import { watchConfiguration } from './watch-configuration.ts';

const file = (channel: string): string => `
channels: { ${channel}: { provider: simulator } }
models: { m: { kind: text, routes: [{ channel: ${channel} }] } }
`;

const watching = async () => {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.close());
  const path = join(folder.path, 'gateway.yaml');
  await writeFile(path, file('first'));
  const seen: Configuration[] = [];
  const mistakes: unknown[] = [];
  const source = { path, env: {} };
  const current = await loadConfiguration(source);
  const watch = watchConfiguration({
    ...source,
    current,
    intervalMs: 5,
    onChange: (configuration) => seen.push(configuration),
    onMistake: (error) => mistakes.push(error),
  });
  onTestFinished(() => watch.close());
  return { path, seen, mistakes, names: () => seen.map(({ channels }) => [...channels.keys()].join()) };
};

test('an edited file takes effect, whether it is overwritten or replaced', async () => {
  const { path, names } = await watching();
  await writeFile(path, file('second'));
  await waitFor(() => names().at(-1) === 'second');
  await writeFile(`${path}.new`, file('third'));
  await rename(`${path}.new`, path);
  await waitFor(() => names().at(-1) === 'third');
});

test('an invalid file is reported and changes nothing; a valid one after it takes effect', async () => {
  const { path, seen, mistakes, names } = await watching();
  await writeFile(path, 'channels: 1');
  await waitFor(() => mistakes.length > 0);
  expect(String(mistakes[0])).toContain('channels: found 1, expected a mapping');
  expect(seen).toEqual([]);
  await writeFile(path, file('second'));
  await waitFor(() => names().at(-1) === 'second');
});

test('a file that is missing for a while does not fall back to the environment', async () => {
  const { path, seen, mistakes, names } = await watching();
  await rm(path);
  await waitFor(() => mistakes.length > 0);
  expect(seen).toEqual([]);
  await writeFile(path, file('second'));
  await waitFor(() => names().at(-1) === 'second');
});

test('a change between loading and watching is not missed', async () => {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.close());
  const source = { path: join(folder.path, 'gateway.yaml'), env: {} };
  await writeFile(source.path, file('first'));
  const current = await loadConfiguration(source);
  await writeFile(source.path, file('second'));
  const changed = Promise.withResolvers<Configuration>();
  const watch = watchConfiguration({
    ...source,
    current,
    onChange: changed.resolve,
    onMistake: changed.reject,
  });
  onTestFinished(() => watch.close());
  expect([...(await changed.promise).channels.keys()]).toEqual(['second']);
});
