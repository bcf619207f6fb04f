import type { Contender } from './contender.ts';
import type { LoadGenerator, LoadOptions } from './load.ts';
import { percentile } from './percentile.ts';
import { measureProcessorTime } from './processor-time.ts';
import type { Request } from './requests.ts';

export interface Measured {
  readonly requestsPerSecond: number;
  readonly p99Ms: number;
  readonly errors: number;
  /** Microseconds of processor time per request, by process and in all. */
  readonly processorUs: ReadonlyMap<string, number>;
  readonly totalProcessorUs: number;
}

export interface Rounds extends LoadOptions {
  readonly rounds: number;
}

/**
 * Loads the contenders in turn, round after round, so that what disturbs the machine disturbs all of them, and takes
 * each figure's median over the rounds. A round before the first one warms everything up and is not counted.
 */
export async function compare(
  generator: LoadGenerator,
  contenders: readonly Contender[],
  requestOf: (contender: Contender) => Request,
  { rounds, ...options }: Rounds,
): Promise<ReadonlyMap<string, Measured>> {
  const results = new Map<string, Measured[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const contender of contenders) {
      const measured = await measure(generator, contender, requestOf(contender), options);
      if (round > 0) results.get(contender.name)?.push(measured);
    }
  }
  return new Map([...results].map(([name, list]) => [name, median(list)]));
}

async function measure(
  generator: LoadGenerator,
  { baseUrl, headers, processes }: Contender,
  { path, body }: Request,
  options: LoadOptions,
): Promise<Measured> {
  const workload = { url: baseUrl + path, headers: { ...headers, 'content-type': 'application/json' }, body };
  const { outcome, timeUs } = await measureProcessorTime(processes, () => generator.run(workload, options));
  const processorUs = new Map([...timeUs].map(([name, us]) => [name, us / outcome.requests]));
  return {
    requestsPerSecond: outcome.requestsPerSecond,
    p99Ms: outcome.p99Ms,
    errors: outcome.errors,
    processorUs,
    totalProcessorUs: [...processorUs.values()].reduce((total, us) => total + us, 0),
  };
}

function median(list: readonly Measured[]): Measured {
  const middle = (pick: (measured: Measured) => number) => percentile(list.map(pick), 0.5);
  const names = [...(list[0]?.processorUs.keys() ?? [])];
  return {
    requestsPerSecond: middle((measured) => measured.requestsPerSecond),
    p99Ms: middle((measured) => measured.p99Ms),
    errors: list.reduce((total, measured) => total + measured.errors, 0),
    processorUs: new Map(
      names.map((name) => [name, middle((measured) => measured.processorUs.get(name) ?? 0)]),
    ),
    totalProcessorUs: middle((measured) => measured.totalProcessorUs),
  };
}
