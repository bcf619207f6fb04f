import { readdir, readlink } from 'node:fs/promises';
import type { Stack } from '@gateway/stack/start-stack';

/** What a process holds. What it had for a request is in there until it lets go of it. */
export interface Holdings {
  readonly sockets: number;
  /** Its open files below the data folder. */
  readonly files: readonly string[];
  /** Timers for which it would stay alive; null where it has no metrics that are found. */
  readonly timers: number | null;
  /** Null as for timers. */
  readonly heapBytes: number | null;
}

type StackProcess = Stack['processes'][number];

/** By the name of the process. */
export type HoldingsByName = ReadonlyMap<string, Holdings>;

/** What all processes hold, once they have collected their garbage; of sockets and files nothing where the system has no `/proc`. */
export async function holdingsOf(stack: Stack, dataFolder: string): Promise<HoldingsByName> {
  for (const { pid } of stack.processes) process.kill(pid, 'SIGUSR2');
  const all = stack.processes.map(
    async (process) => [process.name, await holdingsOfOne(stack, process, dataFolder)] as const,
  );
  return new Map(await Promise.all(all));
}

async function holdingsOfOne(stack: Stack, process: StackProcess, dataFolder: string): Promise<Holdings> {
  const [open, page] = await Promise.all([openBy(process.pid), metricsOf(stack, process)]);
  return {
    sockets: open.filter((target) => target.startsWith('socket:')).length,
    files: open.filter((target) => target.startsWith(`${dataFolder}/`)),
    timers: valueIn(page, /^nodejs_active_resources\{type="Timeout"[^}]*\} (\S+)$/m),
    heapBytes: valueIn(page, /^nodejs_heap_size_used_bytes(?:\{[^}]*\})? (\S+)$/m),
  };
}

async function openBy(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const numbers = await readdir(folder).catch(() => []);
  // One that was closed meanwhile is none.
  return Promise.all(numbers.map((number) => readlink(`${folder}/${number}`).catch(() => '')));
}

/** The page of metrics; of edges only the first one's is found, which has an address of its own. */
async function metricsOf({ edgeMetricsUrl }: Stack, { name, url, parts }: StackProcess): Promise<string> {
  const origin = parts.includes('edge') ? (name === 'edge' ? edgeMetricsUrl : null) : url;
  if (origin === null) return '';
  return fetch(`${origin}/metrics`, { headers: { connection: 'close' } }).then(
    (reply) => reply.text(),
    () => '',
  );
}

const valueIn = (page: string, line: RegExp): number | null => {
  const [, value] = line.exec(page) ?? [];
  return value === undefined ? null : Number(value);
};

/**
 * What a process that is quiet may hold beyond what it held at its start: connections that wait for their next request, the timers
 * of its upkeep, code that is compiled later. Twice what a round leaves at most (20 sockets, 5 timers, 10 MB) and a little more: a
 * leak grows past it, in a short round where each request of a service leaves something.
 */
const BEYOND_START = { sockets: 45, timers: 12, heapBytes: 40 * 1024 * 1024 } as const;

/** In words, what processes hold that are quiet and should not. What was open at its start may stay so, such as a database. */
export function excessOf(start: HoldingsByName, now: HoldingsByName): string[] {
  return [...now].flatMap(([name, held]) => {
    const before = start.get(name);
    const more = (['sockets', 'timers', 'heapBytes'] as const).flatMap((what) => {
      const [had, has] = [before?.[what] ?? null, held[what]];
      if (had === null || has === null || has <= had + BEYOND_START[what]) return [];
      return [`${name} holds ${has} ${what}, ${had} at its start`];
    });
    const opened = held.files.filter((path) => !before?.files.includes(path));
    return [...more, ...opened.map((path) => `${name} holds ${path} open`)];
  });
}
