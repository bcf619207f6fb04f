import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { PROVIDER_KEY } from './support/configuration.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** The configuration is in the database, and is changed by the admin API while everything runs. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    ...{ mode: 'each', services: ['edge', 'text', 'image-worker'], replicas: { text: 2 } },
    env: { CONFIGURATION_SOURCE: 'database' },
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const Reply = z.looseObject({
  number: z.int().optional(),
  base: z.int().nullish(),
  text: z.string().optional(),
});

async function call(path: string, body: unknown) {
  const response = await fetch(`${gateway.stack.adminUrl}/admin/v1/configuration${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.stack.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return Reply.parse(await response.json());
}

/** Saves an edit, and waits until every process has it. */
async function change(path: readonly (string | number)[], value: unknown, reason: string): Promise<number> {
  const { base, text } = await call('/draft', { edits: [{ op: 'set', path, value }] });
  const before = gateway.lines.length;
  const { number } = await call('/revisions', { base, text, reason });
  await changedSince(before);
  return number ?? 0;
}

/** Two replicas of text, and the worker. */
const changedSince = (before: number) =>
  waitFor(
    () =>
      gateway.lines.slice(before).filter(({ text }) => text.includes('the configuration has changed'))
        .length >= 3,
  );

const servedModel = async (): Promise<unknown> => {
  await gateway.openai.responses.create({ model: 'alias', input: 'x' });
  return (await gateway.simulator.nextRequest()).json();
};

test('a change of a route is in every replica, with the secret that only they read; going back undoes it', async () => {
  expect(await servedModel()).toMatchObject({ model: 'gpt-5.2' });
  expect(gateway.simulator.requests.at(-1)?.headers.authorization).toContain(PROVIDER_KEY);
  const number = await change(['models', 'alias', 'routes', 0, 'model'], 'gpt-5.3', 'a newer one');
  expect(number).toBe(2);
  // Each replica is asked at least once.
  for (let count = 0; count < 4; count += 1) expect(await servedModel()).toMatchObject({ model: 'gpt-5.3' });
  expect(gateway.simulator.requests.at(-1)?.headers.authorization).toContain(PROVIDER_KEY);

  const before = gateway.lines.length;
  await call('/revisions/1/restore', { base: 2, reason: 'not that' });
  await changedSince(before);
  for (let count = 0; count < 4; count += 1) expect(await servedModel()).toMatchObject({ model: 'gpt-5.2' });
  expect(JSON.stringify(gateway.lines)).not.toContain(PROVIDER_KEY);
});

test('the file is not followed any more, and a process that starts again has the last revision', async () => {
  await writeFile(gateway.configurationPath, 'channels: {}\nmodels: {}\n');
  await change(['models', 'alias', 'routes', 0, 'model'], 'gpt-5.4', 'another one');
  for (const name of ['text', 'text-2']) {
    const { pid } = gateway.stack.process(name);
    gateway.stack.process(name).kill('SIGKILL');
    await waitFor(() => gateway.stack.process(name).pid !== pid);
  }
  await waitFor(async () => {
    const response = await gateway.fetch('/v1/responses', { json: { model: 'alias', input: 'x' } });
    return response.ok;
  });
  expect(gateway.simulator.requests.at(-1)?.json()).toMatchObject({ model: 'gpt-5.4' });
  const copy = await readFile(join(gateway.dataFolder, 'configuration.json'), 'utf8');
  expect(copy).toContain('gpt-5.4');
  expect(copy).not.toContain(PROVIDER_KEY);
});
