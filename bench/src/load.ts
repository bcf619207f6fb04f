import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

/** One kind of request, sent over and over. */
export interface Workload {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const LoadResult = z.object({
  requests: z.number(),
  requestsPerSecond: z.number(),
  p50Ms: z.number(),
  p99Ms: z.number(),
  /** Anything but a 2xx, and requests that got no answer. */
  errors: z.number(),
});
export type LoadResult = z.infer<typeof LoadResult>;

export interface LoadOptions {
  readonly connections: number;
  readonly seconds: number;
}

/** A public load generator, run as a process of its own. */
export interface LoadGenerator {
  readonly name: 'wrk' | 'autocannon' | 'ws' | 'batch' | 'realtime';
  run(workload: Workload, options: LoadOptions): Promise<LoadResult>;
}

/** wrk where it is installed, because it takes the least from the cores that are measured; else autocannon. */
export async function findLoadGenerator(): Promise<LoadGenerator> {
  const found = await output('sh', ['-c', 'command -v wrk || true']);
  return found.trim() === '' ? { name: 'autocannon', run: autocannon } : { name: 'wrk', run: wrk };
}

/** Makes wrk print what it measured as JSON, in milliseconds. */
const WRK_REPORT = `
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('\\n{"requests":%d,"requestsPerSecond":%f,"p50Ms":%f,"p99Ms":%f,"errors":%d}\\n',
    summary.requests - e.status, (summary.requests - e.status) / summary.duration * 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, e.status + e.connect + e.read + e.write + e.timeout))
end
`;

async function wrk(
  { url, headers, body }: Workload,
  { connections, seconds }: LoadOptions,
): Promise<LoadResult> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  try {
    const script = join(folder, 'request.lua');
    const lines = Object.entries(headers).map(
      ([name, value]) => `wrk.headers[${quote(name)}] = ${quote(value)}`,
    );
    const request = ['wrk.method = "POST"', `wrk.body = ${quote(body)}`, ...lines].join('\n');
    await writeFile(script, request + WRK_REPORT);
    const text = await output('wrk', [
      '-t1',
      `-c${connections}`,
      `-d${seconds}s`,
      '--timeout',
      '30s',
      '-s',
      script,
      url,
    ]);
    return LoadResult.parse(JSON.parse(text.slice(text.lastIndexOf('\n{'))));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A Lua string: JSON's escapes are Lua's, but for `\u`, which is kept out by escaping bytes in decimal. */
const quote = (text: string): string =>
  `"${[...Buffer.from(text)].map((byte) => (byte >= 32 && byte < 127 && byte !== 34 && byte !== 92 ? String.fromCharCode(byte) : `\\${String(byte).padStart(3, '0')}`)).join('')}"`;

const AutocannonResult = z.object({
  '2xx': z.number(),
  duration: z.number(),
  non2xx: z.number(),
  errors: z.number(),
  timeouts: z.number(),
  latency: z.object({ p50: z.number(), p99: z.number() }),
});

async function autocannon(
  { url, headers, body }: Workload,
  { connections, seconds }: LoadOptions,
): Promise<LoadResult> {
  const program = createRequire(import.meta.url).resolve('autocannon');
  const headerArguments = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`]);
  const text = await output(process.execPath, [
    program,
    ...['--json', '--no-progress', '-m', 'POST', '-c', String(connections), '-d', String(seconds)],
    ...['-b', body, ...headerArguments, url],
  ]);
  const result = AutocannonResult.parse(JSON.parse(text));
  return {
    requests: result['2xx'],
    requestsPerSecond: result['2xx'] / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    errors: result.non2xx + result.errors + result.timeouts,
  };
}

async function output(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`${command} ended with code ${code}`);
  return text;
}
