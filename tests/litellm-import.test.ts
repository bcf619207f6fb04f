import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type TemporaryFolder, temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { wavFile } from './support/media-files.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Files of LiteLLM's, imported by the command line, serve every model that they name; the simulator is each of their providers. */

const root = join(import.meta.dirname, '..');
const FILES = join(root, 'apps/admin/src/litellm/fixtures');
const names = (await readdir(FILES)).filter((name) => name.endsWith('.yaml') && !name.endsWith('.out.yaml'));

const Route = z.looseObject({ channel: z.string(), model: z.string().optional() });
const Imported = z.object({
  channels: z.record(z.string(), z.unknown()),
  models: z.record(z.string(), z.looseObject({ kind: z.string(), routes: z.array(Route) })),
});
type Imported = z.infer<typeof Imported>;

let folder: TemporaryFolder;
const imported = new Map<string, Imported>();
let gateway: Gateway;

beforeAll(async () => {
  folder = await temporaryFolder();
  for (const name of names) {
    const output = join(folder.path, name);
    const argv = ['apps/admin/src/cli.ts', 'import', 'litellm', join(FILES, name), '--output', output];
    await promisify(execFile)(process.execPath, argv, { cwd: root });
    imported.set(name, Imported.parse(parse(await readFile(output, 'utf8'))));
  }
  gateway = await startGateway({ configuration: (origin) => merged(origin) });
});
afterAll(async () => {
  await gateway?.close();
  await folder?.close();
});

/** All files as one. A channel is the simulator, under a name of its file's. */
function merged(origin: string): string {
  const channels: Record<string, unknown> = {};
  const models: Record<string, unknown> = {};
  for (const [file, one] of imported) {
    const own = (channel: string) => `${file}-${channel}`;
    for (const channel of Object.keys(one.channels))
      channels[own(channel)] = { provider: 'simulator', baseUrl: origin, apiKey: 'k' };
    for (const [name, model] of Object.entries(one.models)) {
      if (name in models) throw new Error(`${file} has a model that another one has: ${name}`);
      const routes = model.routes.map(({ speaks: _, ...route }) => ({
        ...route,
        channel: own(route.channel),
      }));
      models[name] = { ...model, routes };
    }
  }
  return stringify({ channels, models });
}

/** Asks for a model by the endpoint of its kind. */
const ASK: Readonly<Record<string, (model: string) => Promise<unknown>>> = {
  text: (model) =>
    gateway.openai.chat.completions.create({ model, messages: [{ role: 'user', content: 'What is up?' }] }),
  rerank: (model) =>
    gateway
      .fetch('/v1/rerank', { json: { model, query: 'a house', documents: ['a home'] } })
      .then((reply) => reply.text()),
  embedding: (model) => gateway.openai.embeddings.create({ model, input: 'a house' }),
  image: (model) => gateway.openai.images.generate({ model, prompt: 'a house' }),
  speech: (model) =>
    gateway.openai.audio.speech
      .create({ model, input: 'Hello', voice: 'alloy' })
      .then((reply) => reply.arrayBuffer()),
  transcription: (model) => gateway.openai.audio.transcriptions.create({ model, file: wavFile(1) }),
};

/** What a name of this pattern leaves for the star of its route. */
const STAR = 'some-model';

test.for(names)(
  'every model of %s is served, and its provider is asked for its own name of it',
  async (file) => {
    const { models = {} } = imported.get(file) ?? {};
    expect(Object.keys(models)).not.toEqual([]);
    for (const [name, { kind, routes }] of Object.entries(models)) {
      gateway.simulator.reset();
      const called = name.replace('*', STAR);
      await ASK[kind]?.(called);
      const own = routes.map(({ model }) => model?.replace('*', STAR) ?? called);
      const asked = gateway.simulator.requests.map((request) => request.text()).join('\n');
      expect(
        own.some((model) => asked.includes(model)),
        `${name}: ${own} in ${asked.slice(0, 300)}`,
      ).toBe(true);
    }
  },
);
