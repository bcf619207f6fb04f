import { rename, writeFile } from 'node:fs/promises';
import { createGate } from '@gateway/simulator/gate';
import { recordedStream } from '@gateway/simulator/recorded-stream';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ONE_PROVIDER } from './support/configuration.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';
import { startLoad } from './support/steady-load.ts';

/** `gateway.yaml` is edited while everything runs. */

const SERVICES = ['text', 'image', 'image-worker', 'audio', 'audio-worker'];

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

/** Saves the file as editors do, and waits until every process has logged the message. */
async function save(text: string, message: string): Promise<void> {
  const before = gateway.lines.length;
  await writeFile(`${gateway.configurationPath}.new`, text);
  await rename(`${gateway.configurationPath}.new`, gateway.configurationPath);
  await waitFor(() =>
    SERVICES.every((name) =>
      gateway.lines.slice(before).some(({ process, text }) => process === name && text.includes(message)),
    ),
  );
}

const CHANGED = 'the configuration has changed';
const UNUSABLE = 'not usable';
const valid = () => ONE_PROVIDER(gateway.simulator.url);

const sentBody = async (model: string): Promise<unknown> => {
  await gateway.openai.responses.create({ model, input: 'x' });
  return (await gateway.simulator.nextRequest()).json();
};

test('a changed file changes where requests go, and drops no stream that is under way', async () => {
  const gate = createGate();
  const sse = recordedStream('responses-text');
  gateway.simulator.script({ sse, stallAfter: 5, resume: gate.opened });
  const reply = await gateway.fetch('/v1/responses', { json: { model: 'alias', input: 'x', stream: true } });
  expect((await gateway.simulator.nextRequest()).json()).toMatchObject({ model: 'gpt-5.2' });

  // Another channel under the same name, and another route.
  const changed = valid()
    .replace('channel: provider, model: gpt-5.2', 'channel: provider, model: gpt-5.3')
    .replace('apiKey: sk-provider', 'apiKey: sk-another-key-of-the-provider');
  await save(`${changed}  added: { kind: text, routes: [{ channel: provider }] }\n`, CHANGED);
  expect(await sentBody('alias')).toMatchObject({ model: 'gpt-5.3' });
  expect(gateway.simulator.requests.at(-1)?.headers.authorization).toContain('sk-another-key');
  expect(await sentBody('added')).toMatchObject({ model: 'added' });

  gate.open();
  expect(await reply.text()).toBe(sse.toString());
});

test('requests, streams and jobs under load are not disturbed by files that change, or that are invalid for a while', async () => {
  const load = startLoad(gateway);
  try {
    await load.goesOn(2);
    for (const count of [1, 2]) {
      await save(valid().replace('apiKey: sk-provider', `apiKey: sk-key-${count}-of-the-provider`), CHANGED);
      await load.goesOn(2);
      await save('models: [', UNUSABLE);
      await load.goesOn(2);
    }
    await save(valid(), CHANGED);
    await load.goesOn(2);
  } finally {
    await load.stop();
  }
  expect(load.failures).toEqual([]);
});

test('a model that is taken out of the file is gone', async () => {
  await save(valid().replace(/^ {2}alias:.*\n/m, ''), CHANGED);
  await expect(sentBody('alias')).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
  await save(valid(), CHANGED);
  expect(await sentBody('alias')).toMatchObject({ model: 'gpt-5.2' });
});

test.for([
  ['of no sense', (text: string) => text.replace('provider: simulator', 'provider: simulater'), 'simulater'],
  ['that is no YAML', (text: string) => `${text}\n  - [`, 'gateway.yaml'],
  [
    'with a route to nowhere',
    (text: string) => text.replace('channel: provider', 'channel: nobody'),
    'nobody',
  ],
] as const)('a file %s is reported, and the one before stays', async ([, spoil, named]) => {
  const before = gateway.lines.length;
  await save(spoil(valid()), UNUSABLE);
  const { text } = gateway.lines.slice(before).find((line) => line.text.includes(UNUSABLE)) ?? { text: '{}' };
  expect(JSON.parse(text)).toMatchObject({ level: 50, reason: expect.stringContaining(named) });
  expect(text).not.toContain('sk-provider');
  expect(await sentBody('alias')).toMatchObject({ model: 'gpt-5.2' });
  expect(await (await fetch(`${gateway.url}/readyz`)).json()).toMatchObject({ status: 'ok' });
});
