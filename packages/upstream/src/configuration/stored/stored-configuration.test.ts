import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import type { Configuration } from '../configuration.ts';
import { loadConfiguration } from '../load-configuration.ts';
import { watchConfiguration } from '../watch-configuration.ts';
import { createConfigurationPublisher, type PublishedConfiguration } from './published-configuration.ts';
import { createSealedValues } from './sealed-values.ts';
import { createStoredConfiguration } from './stored-configuration.ts';

const SECRET = 'a gateway secret of more than 32 characters';
const values = createSealedValues(SECRET);

const TEXT = `channels:
  one: { provider: openai, apiKey: "\${KEY}" }
models:
  gpt-5: { kind: text, routes: [{ channel: one }] }
`;
const content = (number: number, text = TEXT, key = `the-key-of-${number}`): PublishedConfiguration => ({
  ...{ number, atMs: 1, text },
  secrets: { KEY: values.seal('KEY', key) },
});

test('a sealed value opens under its own name and secret only, and not after a change', () => {
  const sealed = values.seal('KEY', 'sk-1');
  expect(values.open('KEY', sealed)).toBe('sk-1');
  expect(sealed).not.toBe(values.seal('KEY', 'sk-1'));
  expect(values.open('OTHER', sealed)).toBeNull();
  expect(createSealedValues(`${SECRET}!`).open('KEY', sealed)).toBeNull();
  const at = Math.floor(sealed.length / 2);
  const changed = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`;
  for (const broken of [changed, sealed.slice(0, 12), '', 'gwv1_'])
    expect(values.open('KEY', broken)).toBeNull();
});

test('a service follows what is published, keeps a copy for a Redis that was emptied, and goes on with the last usable one', async () => {
  await using resources = new AsyncDisposableStack();
  const server = resources.adopt(await startRedis(), (owned) => owned.close());
  const redis = resources.adopt(new Redis(server.url), (owned) => owned.disconnect());
  const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
  const path = join(folder.path, 'gateway.yaml');
  const copyPath = join(folder.path, 'data', 'configuration.json');
  const publisher = createConfigurationPublisher(redis);
  const open = () =>
    createStoredConfiguration({
      ...{ redis, env: {}, gatewaySecret: SECRET, copyPath },
      onProblem: (error) => {
        throw error;
      },
    });
  await writeFile(
    path,
    'channels: { file: { provider: simulator, baseUrl: "http://127.0.0.1:9" } }\nmodels: {}\n',
  );
  const names = ({ channels }: Configuration) => [...channels.keys()];
  const source = { path, env: {} };
  // Nothing is published yet.
  expect(names(await loadConfiguration({ ...source, stored: open() }))).toEqual(['file']);

  expect(await publisher.publish(content(1), null)).toBe(true);
  // Who came first is not overwritten.
  expect(await publisher.publish(content(1, TEXT, 'late'), null)).toBe(false);
  const stored = open();
  const current = await loadConfiguration({ ...source, stored });
  expect(names(current)).toEqual(['one']);
  expect(current.channels.get('one')?.accounts[0].secrets.values).toContain('the-key-of-1');

  const changes: Configuration[] = [];
  const mistakes: unknown[] = [];
  const watch = watchConfiguration({
    ...{ ...source, stored, current, intervalMs: 5 },
    onChange: (next) => changes.push(next),
    onMistake: (error) => mistakes.push(error),
  });
  resources.defer(() => watch.close());
  const next = content(2, TEXT.replace('gpt-5', 'gpt-6'));
  await publisher.publish(next, await publisher.version());
  await expect.poll(() => changes.length).toBe(1);
  expect(changes[0]?.models.map(({ pattern }) => pattern)).toEqual(['gpt-6']);
  // The same text with another value is a change, too.
  await publisher.publish(
    { ...next, secrets: { KEY: values.seal('KEY', 'a-rotated-key') } },
    await publisher.version(),
  );
  await expect.poll(() => changes.length).toBe(2);
  expect(changes[1]?.channels.get('one')?.accounts[0].secrets.values).toContain('a-rotated-key');
  await publisher.publish(content(3, TEXT.replace('KEY', 'NOT_SET')), await publisher.version());
  await expect.poll(() => mistakes.length).toBe(1);
  expect(changes).toHaveLength(2);

  await publisher.publish(next, await publisher.version());
  await expect.poll(() => changes.length).toBe(3);
  await redis.flushall();
  expect((await stored.read())?.number).toBe(2);
  expect(names(await loadConfiguration({ ...source, stored: open() }))).toEqual(['one']);
  // Who cannot open it has no such variable, and not a wrong one.
  const closed = createStoredConfiguration({
    ...{ redis, env: {}, gatewaySecret: undefined, copyPath },
    onProblem: () => undefined,
  });
  await expect(loadConfiguration({ ...source, stored: closed })).rejects.toThrow(/KEY.*not set/s);
});
