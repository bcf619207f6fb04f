import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NO_REDIS_FILES } from '@gateway/redis/place/redis-url';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { GatewayConfig, WorkersConfig } from '../../apps/gateway/src/config.ts';
import { JOBS } from '../../packages/jobs/src/catalog.ts';
import {
  BUSY_NODE_OPTIONS,
  PROCESSES,
  SECRET_VARIABLES,
} from '../../packages/stack/src/processes/process-table.ts';
import { PROCESS_SETTINGS, TRACING_VARIABLES } from '../support/process-settings.ts';
import { findHelm, HELM_PATIENCE_MS, type Helm } from './helm.ts';
import { validateObject } from './kubernetes-schemas.ts';
import { type Container, isSelected, type Objects, portOf, readObjects } from './objects.ts';

/** The chart, as Helm renders it for the values in `shapes/`; `golden/` has what comes of them. */

const ROOT = join(import.meta.dirname, '../..');
const CHART = join(ROOT, 'deploy/helm/gateway');
/** And whether it has a process for each service or as few as possible. */
const SHAPES = { minimal: 'each', services: 'each', scaled: 'each', 'all-in-one': 'one' } as const;
type Shape = keyof typeof SHAPES;

const SETTINGS: Readonly<Record<string, z.ZodObject>> = {
  ...PROCESS_SETTINGS,
  gateway: GatewayConfig,
  workers: WorkersConfig,
};
/** Read by the configuration of channels, by the S3 client, by Kubernetes for REDIS_URL, by what opens Redis, and by what exports traces. */
const BESIDE_SETTINGS = [
  ...['SIMULATOR_URL', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'REDIS_PASSWORD'],
  ...Object.keys(NO_REDIS_FILES),
  ...TRACING_VARIABLES,
];
const SECRETS: readonly string[] = [
  ...SECRET_VARIABLES,
  ...['GATEWAY_SECRET', 'DATABASE_URL', 'REDIS_PASSWORD', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'],
  'OTEL_EXPORTER_OTLP_HEADERS',
];

let helm: Helm;
const rendered = new Map<string, Objects>();
beforeAll(async () => {
  helm = await findHelm();
  for (const shape of Object.keys(SHAPES)) {
    const values = join(import.meta.dirname, 'shapes', `${shape}.yaml`);
    rendered.set(shape, readObjects(await helm.template({ values })));
  }
}, HELM_PATIENCE_MS);
function objectsOf(shape: Shape): Objects {
  const objects = rendered.get(shape);
  if (objects === undefined) throw new Error(`${shape} was not rendered`);
  return objects;
}
const shapes: readonly Shape[] = ['minimal', 'services', 'scaled', 'all-in-one'];
const variable = ({ env }: Container, name: string) => env.find((one) => one.name === name);

describe.for(shapes)('the shape %s', (shape) => {
  test('is what its golden file says', async () => {
    const text = objectsOf(shape).all.map((object) => stringify(object, { lineWidth: 0 }));
    const golden = join(import.meta.dirname, 'golden', `${shape}.yaml`);
    await expect(text.join('---\n')).toMatchFileSnapshot(golden);
  });

  test('has objects that fit the schemas of Kubernetes', () => {
    for (const object of objectsOf(shape).all) validateObject(object);
  });

  test('starts every process as npm start does, with no secret that it does not give', () => {
    const { processes } = objectsOf(shape);
    const rows = PROCESSES[SHAPES[shape]].filter(({ name }) => name !== 'simulator');
    expect(new Set(processes.keys())).toEqual(new Set(rows.map(({ name }) => name)));
    for (const { name, entry, isBusy, secrets } of rows) {
      const { command = [], env = [] } = processes.get(name)?.container ?? {};
      expect(command).toEqual(['node', ...(isBusy ? BUSY_NODE_OPTIONS : []), `/gateway/${entry}`]);
      const given = env.filter((one) => SECRET_VARIABLES.some((secret) => secret === one.name));
      expect(secrets).toEqual(expect.arrayContaining(given.map((one) => one.name)));
    }
  });

  test('gives every process the settings that it requires, and none that it does not know', () => {
    for (const [name, { container }] of objectsOf(shape).processes) {
      const settings = SETTINGS[name];
      const known = [...Object.keys(settings?.shape ?? {}), ...BESIDE_SETTINGS];
      expect(container.env.map((one) => one.name).filter((one) => !known.includes(one))).toEqual([]);
      const filled = container.env.flatMap(({ name: one, value, valueFrom }) =>
        valueFrom?.optional
          ? []
          : [[one, value ?? FILLED_IN[one] ?? 'a secret of more than thirty-two characters']],
      );
      expect(settings?.safeParse(Object.fromEntries(filled)).error?.issues).toBeUndefined();
    }
  });

  test('has no secret in it: every one is a reference', () => {
    const { all, pods } = objectsOf(shape);
    expect(all.filter(({ kind }) => kind === 'Secret')).toEqual([]);
    for (const { container } of pods)
      for (const { name, valueFrom } of container.env)
        if (SECRETS.includes(name)) expect([name, valueFrom]).toEqual([name, expect.anything()]);
  });

  test('gives every process the time to drain and to account before it is killed', () => {
    for (const { pod, container } of objectsOf(shape).processes.values()) {
      const settingOf = (name: string) => Number(variable(container, name)?.value);
      // What is left at the deadline has a second to end, edges a second to leave, and Redis five to answer.
      const drainMs = settingOf('DRAIN_DELAY_MS') + settingOf('DRAIN_TIMEOUT_MS') + 7000;
      expect((pod.terminationGracePeriodSeconds ?? 0) * 1000).toBeGreaterThan(drainMs);
    }
  });

  test('runs nothing with rights: not as root, on a file system that is read-only but for its volumes', () => {
    for (const { name, pod, container } of objectsOf(shape).pods) {
      expect(pod.automountServiceAccountToken).toBe(false);
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: expect.any(Number),
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      // Where the processes write: GATEWAY_DATA_DIR of the image, and what libraries have there.
      const mounts = container.volumeMounts.map(({ mountPath }) => mountPath);
      if (SETTINGS[name] !== undefined) expect(mounts).toEqual(expect.arrayContaining(['/data', '/tmp']));
    }
  });

  test('lets only the edge reach the services, and nobody the workers but for their metrics', () => {
    const { pods, processes, of } = objectsOf(shape);
    for (const { name, labels, container } of pods) {
      const policies = of('NetworkPolicy').filter(({ spec }) =>
        isSelected(spec.podSelector.matchLabels, labels),
      );
      expect([name, policies.length]).toEqual([name, 1]);
      const rules = policies.flatMap(({ spec }) => spec.ingress);
      const numbers = rules.flatMap(({ ports }) => ports.map(({ port }) => portOf(container, port)));
      expect(numbers.every((number) => container.ports.some((one) => one.containerPort === number))).toBe(
        true,
      );
      const callers = [...processes.values()].filter((caller) =>
        rules.some(({ from }) =>
          from.some(({ podSelector }) => podSelector && isSelected(podSelector.matchLabels, caller.labels)),
        ),
      );
      const isService = ['text', 'image', 'audio', 'retrieval'].includes(name);
      const isWorker = name.endsWith('worker') || name === 'workers';
      if (isService) expect(callers.map((caller) => caller.name)).toEqual(['edge']);
      if (isWorker) expect(callers).toEqual([]);
      // A rule without peers is for everybody.
      const isOpen = rules.some(({ from }) => from.length === 0);
      expect([name, isOpen]).toEqual([name, shape !== 'scaled' && ['edge', 'gateway'].includes(name)]);
    }
  });

  test('has a Service where a process looks for another one, which leads to the port that it listens on', () => {
    const { processes, of } = objectsOf(shape);
    for (const { container } of processes.values())
      for (const [name, target] of [
        ['TEXT_URL', 'text'],
        ['IMAGE_URL', 'image'],
        ['AUDIO_URL', 'audio'],
        ['RETRIEVAL_URL', 'retrieval'],
        ['EDGE_URL', 'edge'],
      ] as const) {
        const { value } = variable(container, name) ?? {};
        if (value === undefined) continue;
        const { hostname, port } = new URL(value);
        const service = of('Service').find(({ metadata }) => metadata.name === hostname);
        const found = service?.spec.ports.find((one) => one.port === Number(port || 80));
        const process = processes.get(target);
        expect(process && isSelected(service?.spec.selector ?? {}, process.labels)).toBe(true);
        const listens = target === 'edge' ? 'PORT' : name.replace('_URL', '_PORT');
        expect(process && portOf(process.container, found?.targetPort)).toBe(
          SETTINGS[target]?.shape[listens]?.parse(undefined),
        );
        // The edge balances over the addresses of the pods.
        if (target !== 'edge') expect(service?.spec.clusterIP).toBe('None');
      }
  });
});

test('a configuration in the database is there for every process that reads it, with what opens its secrets', () => {
  const { processes } = objectsOf('scaled');
  const reading = [...processes.values()].filter(({ container }) => {
    const settings = SETTINGS[container.name];
    return settings !== undefined && 'CONFIGURATION_SOURCE' in settings.shape;
  });
  expect(reading.map(({ name }) => name)).toEqual(expect.arrayContaining(['admin', 'text', 'image-worker']));
  for (const { name, container } of reading) {
    expect([name, variable(container, 'CONFIGURATION_SOURCE')?.value]).toEqual([name, 'database']);
    expect([name, variable(container, 'GATEWAY_SECRET')?.valueFrom]).toEqual([name, expect.anything()]);
  }
});

const FILLED_IN: Readonly<Record<string, string>> = {
  REDIS_URL: 'redis://redis:6379',
  DATABASE_URL: 'postgres://gateway:password@postgres:5432/gateway',
};

const METRIC = /\bgateway_[a-z_]+/g;
const metricsIn = (text: string): string[] => [...text.matchAll(METRIC)].map(([name]) => name);

test('workers are scaled by the jobs of every queue that workers take from', () => {
  const queries = objectsOf('scaled')
    .of('ScaledObject')
    .flatMap(({ spec }) => spec.triggers.map(({ metadata }) => metadata.query));
  // Batches of images and speech run in the services.
  const inServices = [JOBS['image.batch'].queue, JOBS['audio.batch'].queue];
  const queues = new Set(
    Object.values(JOBS)
      .map(({ queue }) => queue)
      .filter((queue) => !inServices.includes(queue)),
  );
  expect(new Set(queries)).toEqual(
    new Set(
      [...queues].map(
        (queue) =>
          `sum(max by (state) (gateway_jobs{namespace="ai",queue="${queue}",state=~"waiting|running"}))`,
      ),
    ),
  );
  expect(queries).toHaveLength(queues.size);
});

test('rules and queries are about metrics that there are', async () => {
  const operations = await readFile(join(ROOT, 'docs/operations.md'), 'utf8');
  const documented = new Set(
    operations
      .split('\n')
      .filter((line) => line.startsWith('| `gateway_'))
      .flatMap((line) => metricsIn(line.split('|')[1] ?? '')),
  );
  const rules = await readFile(join(CHART, 'files/rules.yaml'), 'utf8');
  const used = metricsIn(rules);
  expect(used.length).toBeGreaterThan(5);
  expect([...used, 'gateway_jobs'].filter((name) => !documented.has(name))).toEqual([]);
});

test.for([
  ['processes.edge.replicas=two', /processes[./]edge[./]replicas.*integer/],
  ['mode=single', /mode.*services/],
  ['configurationSource=redis', /configurationSource.*'file', 'database'/],
  ['files.url=/data', /files[./]url.*s3:/i],
  ['env.MAX_REQUESTS_IN_FLIGHT=8000', /env[./]MAX_REQUESTS_IN_FLIGHT.*string/],
  ['databse.url.secretName=postgres', /databse/],
  [
    'processes.admin.replicas=2',
    /keys and usage are in SQLite's file, which one process writes\. Set database\.url\.secretName/,
  ],
  ['mode=all-in-one,files.volume.accessMode=ReadWriteMany', /must not be on a network file system\. Leave/],
  [
    'mode=all-in-one,autoscaling.services.enabled=true',
    /one process writes\. Set database\.url\.secretName, or switch it off/,
  ],
  ['autoscaling.workers.enabled=true', /prometheusUrl is not set: KEDA reads/],
  ['httpRoute.enabled=true', /parentRefs is empty: name the Gateway/],
  ['config=channels,existingConfigMap=own', /from one of them only/],
] as const)('%s is refused, with what to do', async ([set, message]) => {
  await expect(helm.template({ set: [set] })).rejects.toThrow(message);
});

const Tree = z.record(z.string(), z.unknown());
const Schema = z.looseObject({
  properties: Tree.optional(),
  $ref: z.string().optional(),
  $defs: Tree.optional(),
});

test('values.yaml has every value that the schema knows, and the schema every one of values.yaml', async () => {
  const [schema, values] = await Promise.all([
    readFile(join(CHART, 'values.schema.json'), 'utf8').then((text) => Schema.parse(JSON.parse(text))),
    readFile(join(CHART, 'values.yaml'), 'utf8').then((text) => Tree.parse(parse(text))),
  ]);
  const compare = (part: unknown, tree: unknown, path: string) => {
    const { $ref, properties } = Schema.parse(part);
    if ($ref !== undefined) return compare(schema.$defs?.[$ref.replace('#/$defs/', '')], tree, path);
    if (properties === undefined) return;
    const found = Tree.parse(tree);
    // Helm gives every chart this one.
    const { global: _, ...known } = properties;
    expect([path, Object.keys(found).toSorted()]).toEqual([path, Object.keys(known).toSorted()]);
    for (const [name, inner] of Object.entries(known)) compare(inner, found[name], `${path}.${name}`);
  };
  compare(schema, values, 'values');
});

test('every value is read by a template', async () => {
  const folder = join(CHART, 'templates');
  const files = (await readdir(folder)).filter((name) => /\.(?:yaml|tpl)$/.test(name));
  const templates = (await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
  const values = Tree.parse(parse(await readFile(join(CHART, 'values.yaml'), 'utf8')));
  const namesIn = (tree: z.infer<typeof Tree>): string[] =>
    Object.entries(tree).flatMap(([name, value]) => {
      const inner = Tree.safeParse(value);
      const isWhole = name === 'resources' || !inner.success || Object.keys(inner.data).length === 0;
      return isWhole ? [name] : namesIn(inner.data);
    });
  // A number of jobs stands for a queue of `_processes.tpl`.
  const isRead = (name: string) => new RegExp(`[."]${name}\\b|queues: .*\\b${name}\\b`).test(templates);
  const names = namesIn(values);
  expect(names.length).toBeGreaterThan(60);
  expect(names.filter((name) => !isRead(name))).toEqual([]);
});

test('helm lint has nothing to say against it', async () => {
  expect(await helm.lint()).toContain('0 chart(s) failed');
});
