import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { DEFAULT_URL_VARIABLE, NO_REDIS_FILES, redisUrlOf } from '@gateway/redis/place/redis-url';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { BUSY_NODE_OPTIONS, PROCESSES } from '../packages/stack/src/processes/process-table.ts';
import { PROCESS_SETTINGS, TRACING_VARIABLES } from './support/process-settings.ts';

/** `docker-compose.yml` as Compose 2 and later read it: strictly, each key once. */

const ROOT = join(import.meta.dirname, '..');
const Compose = z.looseObject({
  services: z.record(
    z.string(),
    z.looseObject({
      command: z.array(z.string()).optional(),
      profiles: z.array(z.string()).optional(),
      stop_grace_period: z.string().optional(),
      volumes: z.array(z.string()).default([]),
      environment: z.record(z.string(), z.coerce.string()).default({}),
    }),
  ),
});
const composeText = await readFile(join(ROOT, 'docker-compose.yml'), 'utf8');
const readCompose = () => Compose.parse(parse(composeText, { strict: true, uniqueKeys: true, merge: true }));

/** What each container reads at its start. */
const SETTINGS = {
  ...PROCESS_SETTINGS,
  simulator: z.object({ SIMULATOR_HOST: z.string() }),
};
/** Read with REDIS_URL, by the configuration of channels, by the S3 client, by what connects to the outside and Node, by what exports traces, and by the image's health check. */
const BESIDE_SETTINGS = [
  ...Object.keys(NO_REDIS_FILES),
  DEFAULT_URL_VARIABLE,
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'SIMULATOR_URL',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'NO_PROXY',
  'NODE_EXTRA_CA_CERTS',
  ...TRACING_VARIABLES,
  'HEALTH_URL',
];

/** With a default that may be made of another variable. */
const VARIABLE = /\$\{(\w+)(?::([-?])((?:[^{}]|\$\{\w+\})*))?\}/g;
const namesIn = (text: string): string[] =>
  [...text.matchAll(VARIABLE)].flatMap(([, name = '', , rest = '']) => [name, ...namesIn(rest)]);
const isRequired = (name: string): boolean => composeText.includes(`\${${name}:?`);

/** A value as Compose passes it on to the container. */
const filledIn = (value: string, env: Readonly<Record<string, string>>): string =>
  value.replaceAll(VARIABLE, (_, name: string, kind?: string, rest = '') =>
    env[name] ? env[name] : kind === '-' ? filledIn(rest, env) : '',
  );

const REQUIRED = {
  GATEWAY_SECRET: 'a secret of more than thirty-two characters',
  GATEWAY_ADMIN_TOKEN: 'a token of enough characters',
  REDIS_PASSWORD: 'pa55word',
};

const filledEnvironment = (environment: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, filledIn(value, REQUIRED)] as const),
  );

test('no default is made of another variable, which Compose 1 reads up to the first brace', () => {
  expect(composeText).not.toMatch(/:-[^}\n]*\$\{/);
});

test('its Redis has a password, which the processes use and no argument shows', () => {
  const { redis, edge } = readCompose().services;
  const filled = filledEnvironment(edge?.environment ?? {});
  expect(redisUrlOf(filled)).toBe('redis://:pa55word@redis:6379');
  expect(filledIn(redis?.environment.REDISCLI_AUTH ?? '', REQUIRED)).toBe('pa55word');
  const [shell, option, script = ''] = redis?.command ?? [];
  expect([shell, option]).toEqual(['sh', '-c']);
  expect(filledIn(script, REQUIRED)).not.toContain('pa55word');
  expect(script).toMatch(/^exec docker-entrypoint\.sh redis-server - <<END\n/);
  expect(script).toContain('\nrequirepass $$REDISCLI_AUTH\nEND\n');
});

test('its base images can be pinned by digest', async () => {
  const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  expect(new Set(bases)).toEqual(new Set([`\${NODE_IMAGE}`]));
  expect(composeText).toContain(`image: \${REDIS_IMAGE:-redis:`);
});

test('each process of the gateway has its service', () => {
  const always = Object.entries(readCompose().services).filter(([, { profiles }]) => profiles === undefined);
  expect(new Set(always.map(([name]) => name))).toEqual(new Set(['redis', ...Object.keys(SETTINGS)]));
});

test.for(PROCESSES.each.map(({ name }) => name))(
  '%s is started with the options of Node that npm start gives it',
  (name) => {
    const { command = [] } = readCompose().services[name] ?? {};
    const row = PROCESSES.each.find((one) => one.name === name);
    expect(command).toEqual(['node', ...(row?.isBusy ? BUSY_NODE_OPTIONS : []), `/gateway/${row?.entry}`]);
  },
);

test.for(['text-worker', 'image-worker', 'audio-worker'])(
  '%s, which sends webhooks of any job, has what they are signed with, and where they may go',
  (name) => {
    const { environment = {} } = readCompose().services[name] ?? {};
    expect(Object.keys(environment)).toEqual(
      expect.arrayContaining(['WEBHOOK_SECRET', 'WEBHOOK_PRIVATE_NETWORKS']),
    );
    expect(PROCESSES.each.find((row) => row.name === name)?.secrets).toContain('WEBHOOK_SECRET');
  },
);

test.for(Object.entries(SETTINGS))(
  '%s gets every setting that it requires, and none that it does not know',
  ([service, settings]) => {
    const { environment = {} } = readCompose().services[service] ?? {};
    const known = [...Object.keys(settings.shape), ...BESIDE_SETTINGS];
    expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([]);
    const filled = filledEnvironment(environment);
    const whole = { ...filled, REDIS_URL: redisUrlOf(filled) ?? '' };
    const present = Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== ''));
    expect(settings.safeParse(present).error?.issues).toBeUndefined();
  },
);

test('each process that keeps files is told of the bucket', () => {
  const { services } = readCompose();
  const keepers = Object.entries(SETTINGS).filter(([, settings]) => 'ASSETS_URL' in settings.shape);
  expect(keepers.map(([service]) => service)).toEqual(expect.arrayContaining(['text', 'text-worker']));
  const ofBucket = ['ASSETS_URL', 'AWS_ENDPOINT_URL_S3', 'AWS_REGION', 'AWS_SECRET_ACCESS_KEY'];
  for (const [service] of keepers)
    expect(Object.keys(services[service]?.environment ?? {}), service).toEqual(
      expect.arrayContaining(ofBucket),
    );
});

test.for(Object.keys(SETTINGS).filter((service) => service !== 'simulator'))(
  '%s is given the time to drain and to account before it is killed',
  (service) => {
    const { environment = {}, stop_grace_period: grace = '' } = readCompose().services[service] ?? {};
    const [, seconds] = /^(\d+)s$/.exec(filledIn(grace, {})) ?? [];
    const settingOf = (name: string) => Number(filledIn(environment[name] ?? '0', {}));
    // What is left at the deadline has a second to end, edges a second to leave, and Redis five to answer.
    const drainMs = settingOf('DRAIN_DELAY_MS') + settingOf('DRAIN_TIMEOUT_MS') + 7000;
    expect(settingOf('DRAIN_TIMEOUT_MS')).toBeGreaterThan(0);
    expect(Number(seconds) * 1000).toBeGreaterThan(drainMs);
  },
);

test('a volume belongs to the user of the processes, whichever of them mounts it first', async () => {
  const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const [, owned = ''] = /^RUN mkdir .*&& chown node:node (.+)$/m.exec(dockerfile) ?? [];
  const mounts = Object.keys(SETTINGS).flatMap((name) => readCompose().services[name]?.volumes ?? []);
  const places = mounts.flatMap((mount) => /^[\w-]+:([^:]+)$/.exec(mount)?.[1] ?? []);
  expect(places.length).toBeGreaterThan(0);
  expect(new Set(places)).toEqual(new Set(owned.split(' ')));
});

test('the health check is found from whatever folder a container works in', async () => {
  const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const [, script = ''] = /^HEALTHCHECK .*CMD \["bash", "\/gateway\/([^"]+)"\]$/m.exec(dockerfile) ?? [];
  expect(script).toBe('scripts/check-health.sh');
  await access(join(ROOT, script));
});

const ENTRY = /\/gateway\/(\S+\.ts)$/;
const IMPORT = /^(?:import|export) (?!type )(?:[^'"`;]*? from )?'([^']+)'|\bimport\('([^']+)'\)/gm;
const Manifest = z.object({ dependencies: z.record(z.string(), z.string()).default({}) });

/** Every import of another package, by the files that an entry loads. */
function* importsOf(
  file: string,
  seen: Set<string>,
): Generator<{ readonly by: string; readonly name: string }> {
  if (seen.has(file)) return;
  seen.add(file);
  for (const [, plain, dynamic] of readFileSync(join(ROOT, file), 'utf8').matchAll(IMPORT)) {
    const name = plain ?? dynamic ?? '';
    if (name.startsWith('.')) {
      const next = join(dirname(file), name);
      if (next.endsWith('.ts')) yield* importsOf(next, seen);
    } else if (!name.startsWith('node:')) {
      yield { by: file, name };
      const [scope, folder, ...rest] = name.split('/');
      if (scope === '@gateway') yield* importsOf(`packages/${folder}/src/${rest.join('/')}.ts`, seen);
    }
  }
}

test('every container finds what it imports: its image has production dependencies only', () => {
  const entries = Object.entries(readCompose().services).flatMap(
    ([, { command }]) => ENTRY.exec(String(command?.at(-1)))?.[1] ?? [],
  );
  expect(entries).toHaveLength(Object.keys(SETTINGS).length);
  const seen = new Set<string>();
  const missing = entries
    .flatMap((entry) => [...importsOf(entry, seen)])
    .filter(({ by, name }) => {
      const folder = by.split('/').slice(0, 2).join('/');
      const { dependencies } = Manifest.parse(
        JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')),
      );
      return !Object.keys(dependencies).some((known) => name === known || name.startsWith(`${known}/`));
    });
  expect(seen.size).toBeGreaterThan(300);
  expect(missing).toEqual([]);
});

test('the image builds the console with every package that its pages import', async () => {
  const [, stage = ''] =
    /^FROM \S+ AS console\n([\s\S]*?)^FROM /m.exec(await readFile(join(ROOT, 'Dockerfile'), 'utf8')) ?? [];
  const files = globSync('apps/console/src/**/*.{ts,tsx}', { cwd: ROOT }).filter(
    (file) => !/\.test\./.test(file),
  );
  const imported = files.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/from '@gateway\/([\w-]+)/g)].map(([, name]) => name),
  );
  expect(imported.length).toBeGreaterThan(0);
  for (const name of new Set(imported)) {
    expect(stage).toContain(`COPY packages/${name} packages/${name}\n`);
    // And with what that package imports.
    expect(stage).toContain(`--filter @gateway/${name}`);
  }
});

test('the variables that it takes are those of .env.example', async () => {
  const example = await readFile(join(ROOT, '.env.example'), 'utf8');
  const names = new Set(namesIn(composeText));
  const explained = new Map([...example.matchAll(/^(#?)(\w+)=/gm)].map(([, mark, name]) => [name, mark]));
  expect(new Set(explained.keys())).toEqual(names);
  for (const name of Object.keys(REQUIRED)) {
    expect(isRequired(name)).toBe(true);
    expect(explained.get(name)).toBe('');
  }
});

test('image URLs follow the port on this machine, unless PUBLIC_URL says where callers are', () => {
  const { environment = {} } = readCompose().services.image ?? {};
  const given = (env: Record<string, string>) => [
    filledIn(environment.PUBLIC_URL ?? '', env),
    filledIn(environment.PORT ?? '', env),
  ];
  expect(given({ PORT: '8180' })).toEqual(['', '8180']);
  expect(given({ PUBLIC_URL: 'https://ai.example.com' })).toEqual(['https://ai.example.com', '8080']);
});

const ANSWERS = { '/well': 200, '/unready': 503 } as const;
test.for([
  ['a process that serves is healthy', '/well', true],
  ['a process that is not ready is not', '/unready', false],
] as const)('%s', async ([, path, expected]) => {
  const server = createServer((_request, response) => response.writeHead(ANSWERS[path]).end('{}'));
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  expect(await isHealthy(`http://127.0.0.1:${port}${path}`)).toBe(expected);
});

test('a process that does not answer is not healthy', async () => {
  expect(await isHealthy('http://127.0.0.1:1/readyz')).toBe(false);
  expect(await isHealthy('')).toBe(false);
});

const isHealthy = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const script = join(ROOT, 'scripts/check-health.sh');
    execFile('bash', [script], { env: { HEALTH_URL: url } }, (error) => resolve(error === null));
  });
