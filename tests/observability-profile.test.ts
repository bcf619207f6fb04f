import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '@gateway/testkit/find-program';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

/** The Compose profile `observability`: what its parts are told of one another is true. */

const ROOT = join(import.meta.dirname, '..');
const read = async (path: string): Promise<unknown> =>
  parse(await readFile(join(ROOT, path), 'utf8'), { merge: true });

const Service = z.looseObject({
  image: z.string(),
  profiles: z.array(z.string()).default([]),
  command: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  depends_on: z.union([z.array(z.string()), z.record(z.string(), z.unknown())]).default([]),
});
const Compose = z.looseObject({
  services: z.record(z.string(), z.looseObject({ profiles: z.array(z.string()).default([]) })),
});
const { services } = Compose.parse(await read('docker-compose.yml'));
const profile = new Map(
  Object.entries(services).flatMap(([name, service]) =>
    service.profiles.includes('observability') ? [[name, Service.parse(service)] as const] : [],
  ),
);

/** Where a file of this repository is within the service's container; null: it is not mounted. */
const mountedAt = (service: string, path: string): string | null => {
  const volumes = profile.get(service)?.volumes ?? [];
  return volumes.find((volume) => volume.startsWith(`./${path}:`))?.split(':')[1] ?? null;
};

/** Each part of the Collector, by its name; those that it gets its telemetry from are of no matter here. */
const parts = z.record(z.string(), z.looseObject({}));
const Collector = z.strictObject({
  receivers: z.strictObject({
    otlp: z.strictObject({
      protocols: z.strictObject({
        http: z.strictObject({ endpoint: z.string() }),
        grpc: z.strictObject({ endpoint: z.string() }),
      }),
    }),
  }),
  processors: parts,
  exporters: z.record(z.string(), z.looseObject({ endpoint: z.url() })),
  service: z.looseObject({
    pipelines: z.strictObject({
      traces: z.strictObject({
        receivers: z.array(z.string()),
        processors: z.array(z.string()),
        exporters: z.array(z.string()),
      }),
    }),
    telemetry: z.looseObject({}),
  }),
});
const Tempo = z.looseObject({
  server: z.strictObject({ http_listen_port: z.int() }),
  distributor: z.strictObject({
    receivers: z.strictObject({
      otlp: z.strictObject({ protocols: z.strictObject({ http: z.strictObject({ endpoint: z.string() }) }) }),
    }),
  }),
  storage: z.strictObject({
    trace: z.strictObject({
      backend: z.literal('local'),
      local: z.strictObject({ path: z.string() }),
      wal: z.strictObject({ path: z.string() }),
    }),
  }),
});

const collector = Collector.parse(await read('deploy/collector/collector.yaml'));
const tempo = Tempo.parse(await read('deploy/tempo/tempo.yaml'));
const portOf = (endpoint: string): number => Number(endpoint.split(':').at(-1));

test('Prometheus, Grafana, a Collector and Tempo are in it, each of a version, and each waits only for those', () => {
  expect([...profile.keys()].toSorted()).toEqual(['collector', 'grafana', 'prometheus', 'tempo']);
  for (const [name, { image, depends_on: others }] of profile) {
    expect(image, name).toMatch(/^\$\{[A-Z]+_IMAGE:-[\w./-]+:v?\d+\.\d+\.\d+\}$/);
    expect([...profile.keys()]).toEqual(
      expect.arrayContaining(Array.isArray(others) ? others : Object.keys(others)),
    );
  }
});

test('every file that is mounted is there, where the program looks for it', async () => {
  const mounts = [...profile.values()]
    .flatMap(({ volumes }) => volumes)
    .filter((volume) => volume.startsWith('./'));
  expect(mounts.length).toBeGreaterThanOrEqual(6);
  for (const mount of mounts) {
    expect(mount).toMatch(/:ro$/);
    expect(await stat(join(ROOT, mount.split(':')[0] ?? '')), mount).toBeDefined();
  }
  const argumentsOf = (name: string) => profile.get(name)?.command;
  expect(argumentsOf('collector')).toContain(
    `--config=${mountedAt('collector', 'deploy/collector/collector.yaml')}`,
  );
  expect(argumentsOf('tempo')).toContain(`-config.file=${mountedAt('tempo', 'deploy/tempo/tempo.yaml')}`);
  expect(argumentsOf('prometheus')).toContain(
    `--config.file=${mountedAt('prometheus', 'deploy/prometheus/prometheus.yaml')}`,
  );
});

test('the Collector takes spans where the documentation sends them, and passes them on to Tempo', async () => {
  const endpoint = new URL('http://collector:4318');
  expect(await readFile(join(ROOT, 'docs/operations.md'), 'utf8')).toContain(
    `\nOTEL_EXPORTER_OTLP_ENDPOINT=${endpoint.origin}\n`,
  );
  expect(profile.has(endpoint.hostname)).toBe(true);
  const { receivers, processors, exporters, service } = collector;
  expect(portOf(receivers.otlp.protocols.http.endpoint)).toBe(Number(endpoint.port));
  const { traces } = service.pipelines;
  expect(traces).toEqual({
    receivers: Object.keys(receivers),
    // The limit of memory comes first, and batches last.
    processors: ['memory_limiter', 'batch'],
    exporters: Object.keys(exporters),
  });
  expect(Object.keys(processors)).toEqual(traces.processors);
  expect(Object.values(exporters).map((one) => new URL(one.endpoint).host)).toEqual([
    `tempo:${portOf(tempo.distributor.receivers.otlp.protocols.http.endpoint)}`,
  ]);
});

test('Tempo keeps traces on its volume', () => {
  const volume = profile.get('tempo')?.volumes.find((one) => one.startsWith('tempo-data:'));
  const folder = `${volume?.split(':')[1]}/`;
  const { local, wal } = tempo.storage.trace;
  for (const { path } of [local, wal]) expect(path.startsWith(folder), path).toBe(true);
});

test('Prometheus takes its configuration, and asks every process of the gateway and the Collector', async () => {
  const promtool = join(await findProgram('prometheus'), '../promtool');
  const cwd = join(ROOT, 'deploy/prometheus');
  await promisify(execFile)(promtool, ['check', 'config', '--syntax-only', 'prometheus.yaml'], { cwd });
  const Config = z.looseObject({
    rule_files: z.tuple([z.literal(mountedAt('prometheus', 'deploy/prometheus/alerts.yaml'))]),
    scrape_configs: z.array(
      z.looseObject({ dns_sd_configs: z.array(z.looseObject({ names: z.array(z.string()) })) }),
    ),
  });
  const { scrape_configs: jobs } = Config.parse(await read('deploy/prometheus/prometheus.yaml'));
  const asked = jobs.flatMap((job) => job.dns_sd_configs.flatMap(({ names }) => names));
  const withoutMetrics = ['redis', 'simulator'];
  const processes = Object.entries(services).flatMap(([name, { profiles }]) =>
    profiles.length === 0 ? [name] : [],
  );
  expect([...asked, ...withoutMetrics].toSorted()).toEqual([...processes, 'collector'].toSorted());
});

test('Grafana loads every board, from sources that are there', async () => {
  const provisioned = 'deploy/grafana/provisioning';
  const Boards = z.strictObject({
    apiVersion: z.literal(1),
    providers: z.tuple([
      z.looseObject({
        name: z.string(),
        type: z.literal('file'),
        options: z.strictObject({ path: z.string() }),
      }),
    ]),
  });
  const { providers } = Boards.parse(await read(`${provisioned}/dashboards/boards.yaml`));
  expect(providers[0].options.path).toBe(mountedAt('grafana', 'deploy/grafana/dashboards'));
  expect(mountedAt('grafana', provisioned)).toBe('/etc/grafana/provisioning');

  const Source = z.object({ uid: z.string(), type: z.string(), url: z.url() });
  const Sources = z.object({ apiVersion: z.literal(1), datasources: z.tuple([Source]) });
  const files = await readdir(join(ROOT, provisioned, 'datasources'));
  const sources = await Promise.all(
    files.map(async (file) => Sources.parse(await read(`${provisioned}/datasources/${file}`)).datasources[0]),
  );
  expect(new Map(sources.map(({ type, url }) => [type, new URL(url).host]))).toEqual(
    new Map([
      ['prometheus', 'prometheus:9090'],
      ['tempo', `tempo:${tempo.server.http_listen_port}`],
    ]),
  );
  // A point on a board leads to a trace: the label that the metrics have, and a source that exists.
  const Prometheus = z.looseObject({
    datasources: z.tuple([
      z.looseObject({
        jsonData: z.looseObject({
          exemplarTraceIdDestinations: z.tuple([
            z.strictObject({
              name: z.literal('trace_id'),
              datasourceUid: z.enum(sources.map(({ uid }) => uid)),
            }),
          ]),
        }),
      }),
    ]),
  });
  Prometheus.parse(await read(`${provisioned}/datasources/prometheus.yaml`));
  expect(profile.get('prometheus')?.command).toContain('--enable-feature=exemplar-storage');
});
