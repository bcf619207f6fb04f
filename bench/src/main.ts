import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { startStack } from '@gateway/stack/start-stack';
import { budgetLines } from './budgets.ts';
import { compare, type Measured, type Target } from './compared.ts';
import { pacedLatency } from './latency.ts';
import { makeLimitedKey } from './limited-key.ts';
import { findLoadGenerator } from './load.ts';
import { startPortkey } from './portkey.ts';
import { REQUESTS } from './requests.ts';
import { manyStreams } from './streams.ts';
import { megabytes, table } from './table.ts';
import { largeUpload } from './upload.ts';

const PATH = '/v1/responses';
const rounds = {
  rounds: Number(process.env.BENCH_ROUNDS ?? 3),
  seconds: Number(process.env.BENCH_SECONDS ?? 5),
  connections: 32,
};
const streamCount = Number(process.env.BENCH_STREAMS ?? 1000);

const print = (text: string) => process.stdout.write(`${text}\n`);

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

await using cleanup = new AsyncDisposableStack();
const dataDir = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
cleanup.defer(() => rm(dataDir, { recursive: true, force: true }));
const generator = await findLoadGenerator();
const stack = await startStack({ dataDir, env: { PATH: process.env.PATH } });
cleanup.defer(() => stack.stop());
const simulatorUrl = stack.process('simulator').url ?? '';
const portkey = await startPortkey({ ports: [await freePort()], upstreamBaseUrl: `${simulatorUrl}/v1` });
cleanup.defer(() => portkey.stop());

const pid = (name: string) => ({ name, pid: stack.process(name).pid });
const gatewayProcesses = [pid('edge'), pid('text')];
const direct: Target = {
  name: 'direct',
  baseUrls: [simulatorUrl],
  headers: { authorization: 'Bearer upstream-key' },
  processes: [pid('simulator')],
};
const gateway: Target = {
  name: 'gateway',
  baseUrls: [stack.edgeUrl],
  headers: { authorization: `Bearer ${stack.key}` },
  processes: gatewayProcesses,
};
const limited: Target = {
  ...gateway,
  name: 'gateway, limited key',
  headers: {
    authorization: `Bearer ${await makeLimitedKey(stack.adminUrl ?? '', stack.adminToken)}`,
  },
};
const peer: Target = { name: 'portkey', ...portkey };
const targets = [direct, gateway, peer];

const row = (name: string, measured: Measured | undefined): string[] =>
  measured === undefined || measured.requestsPerSecond === 0
    ? [name, 'does not answer this']
    : [
        name,
        measured.requestsPerSecond.toFixed(0),
        measured.p50Ms.toFixed(2),
        measured.p99Ms.toFixed(2),
        measured.totalProcessorUs.toFixed(0),
        [...measured.processorUs].map(([process, us]) => `${process} ${us.toFixed(0)}`).join(', '),
        String(measured.errors),
      ];
const HEAD = ['', 'requests/s', 'p50 ms', 'p99 ms', 'processor µs/request', 'of which', 'errors'];

const streams = await manyStreams(
  gateway,
  { path: PATH, body: REQUESTS.paced, streams: streamCount },
  gatewayProcesses,
);
print(`\n${streams.streams} streams at once: ${streams.events} events, ${streams.broken} streams broken`);
for (const [name, bytes] of streams.peakBytes) print(`  ${name}: ${megabytes(bytes)} at most`);

const upload = await largeUpload({ baseUrl: stack.edgeUrl, headers: gateway.headers }, [
  pid('edge'),
  pid('audio'),
]);
print(`\na 25 MB upload: status ${upload.status}`);
for (const [name, bytes] of upload.grownBytes) print(`  ${name}: grew by ${megabytes(bytes)}`);

const byWorkload = new Map<string, ReadonlyMap<string, Measured>>();
for (const [name, body, measured] of [
  ['small JSON', REQUESTS.small, [...targets, limited]],
  // Nobody else here translates.
  ['small JSON, translated', REQUESTS.translated, [gateway]],
  ['streamed', REQUESTS.streamed, targets],
  ['115 KB JSON', REQUESTS.agent, targets],
] as const) {
  const results = await compare(generator, measured, { path: PATH, body }, rounds);
  byWorkload.set(name, results);
  print(`\n${name} (${body.length} bytes, ${generator.name}, ${rounds.connections} connections)`);
  print(table([HEAD, ...measured.map((target) => row(target.name, results.get(target.name)))]));
}

const latency = await pacedLatency(targets, {
  path: PATH,
  body: REQUESTS.small,
  requests: 1500,
  perSecond: 150,
});
print('\nlatency at a moderate rate, ms');
print(
  table([
    ['', 'p50', 'p99'],
    ...[...latency].map(([name, { p50Ms, p99Ms }]) => [name, p50Ms.toFixed(2), p99Ms.toFixed(2)]),
  ]),
);

const small = byWorkload.get('small JSON');
const figure = (value: number | undefined): number => value ?? Number.NaN;
const lines = budgetLines({
  smallUs: figure(small?.get('gateway')?.totalProcessorUs),
  limitedUs: figure(small?.get('gateway, limited key')?.totalProcessorUs),
  agentUs: figure(byWorkload.get('115 KB JSON')?.get('gateway')?.totalProcessorUs),
  translatedUs: figure(byWorkload.get('small JSON, translated')?.get('gateway')?.totalProcessorUs),
  portkeySmallUs: figure(small?.get('portkey')?.totalProcessorUs),
  throughput: figure(small?.get('gateway')?.requestsPerSecond),
  portkeyThroughput: figure(small?.get('portkey')?.requestsPerSecond),
  addedP50Ms: figure(latency.get('gateway')?.p50Ms) - figure(latency.get('direct')?.p50Ms),
  addedP99Ms: figure(latency.get('gateway')?.p99Ms) - figure(latency.get('direct')?.p99Ms),
  brokenStreams: streams.broken,
  streamPeakMb: Math.max(...streams.peakBytes.values()) / 1024 / 1024,
  uploadEdgeMb: figure(upload.grownBytes.get('edge')) / 1024 / 1024,
});
print('\nbudgets');
print(
  table(lines.map(({ what, measured, budget, kept }) => [what, measured, budget, kept ? 'kept' : 'MISSED'])),
);
