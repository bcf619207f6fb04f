import type { LoadGenerator, LoadResult, Workload } from './load.ts';
import { percentile } from './percentile.ts';
import { measureProcessorTime, type WatchedProcess } from './processor-time.ts';

/** Something that answers the same request: the upstream itself, our gateway, a peer. */
export interface Target {
  readonly name: string;
  /** One URL for each process that takes requests; connections are shared out among them. */
  readonly baseUrls: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** Whose processor time counts. */
  readonly processes: readonly WatchedProcess[];
}

export interface Measured {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly errors: number;
  /** Microseconds of processor time per request, by process and in all. */
  readonly processorUs: ReadonlyMap<string, number>;
  readonly totalProcessorUs: number;
}

export interface Rounds {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
}

/**
 * Loads the targets in turn, round after round, so that what disturbs the machine disturbs all of them, and takes each
 * figure's median over the rounds. A round before the first one warms everything up and is not counted.
 */
export async function compare(
  generator: LoadGenerator,
  targets: readonly Target[],
  { path, body }: { path: string; body: string },
  { rounds, seconds, connections }: Rounds,
): Promise<ReadonlyMap<string, Measured>> {
  const results = new Map<string, Measured[]>(targets.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const target of targets) {
      const measured = await measure(generator, target, { path, body }, { seconds, connections });
      if (round > 0) results.get(target.name)?.push(measured);
    }
  }
  return new Map([...results].map(([name, list]) => [name, median(list)]));
}

async function measure(
  generator: LoadGenerator,
  { baseUrls, headers, processes }: Target,
  { path, body }: { path: string; body: string },
  { seconds, connections }: { seconds: number; connections: number },
): Promise<Measured> {
  const workloads: Workload[] = baseUrls.map((baseUrl) => ({
    url: baseUrl + path,
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  }));
  const share = { seconds, connections: Math.ceil(connections / workloads.length) };
  const { outcome, timeUs } = await measureProcessorTime(processes, () =>
    Promise.all(workloads.map((workload) => generator.run(workload, share))),
  );
  const sum = (pick: (result: LoadResult) => number) =>
    outcome.reduce((total, result) => total + pick(result), 0);
  const requests = sum((result) => result.requests);
  const perRequest = new Map([...timeUs].map(([name, us]) => [name, us / requests]));
  return {
    requestsPerSecond: sum((result) => result.requestsPerSecond),
    p50Ms: Math.max(...outcome.map((result) => result.p50Ms)),
    p99Ms: Math.max(...outcome.map((result) => result.p99Ms)),
    errors: sum((result) => result.errors),
    processorUs: perRequest,
    totalProcessorUs: [...perRequest.values()].reduce((total, us) => total + us, 0),
  };
}

function median(list: readonly Measured[]): Measured {
  const middle = (pick: (measured: Measured) => number) => percentile(list.map(pick), 0.5);
  const names = [...(list[0]?.processorUs.keys() ?? [])];
  return {
    requestsPerSecond: middle((measured) => measured.requestsPerSecond),
    p50Ms: middle((measured) => measured.p50Ms),
    p99Ms: middle((measured) => measured.p99Ms),
    errors: list.reduce((total, measured) => total + measured.errors, 0),
    processorUs: new Map(
      names.map((name) => [name, middle((measured) => measured.processorUs.get(name) ?? 0)]),
    ),
    totalProcessorUs: middle((measured) => measured.totalProcessorUs),
  };
}
