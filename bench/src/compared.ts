import type { Contender } from './contender.ts';
import type { LoadGenerator, LoadOptions, Workload } from './load.ts';
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

/** What a contender gets, and by whom it is sent. */
export interface Load {
  readonly generator: LoadGenerator;
  readonly request: Request;
}

export interface Rounds extends LoadOptions {
  readonly rounds: number;
  /** How many requests each contender gets first, which are not counted. */
  readonly warmUp: number;
}

/** Within this time rows of large requests and of streams are warm too: each of theirs runs the same loops often. */
const MAX_WARM_UP_SECONDS = 30;

/**
 * Loads the contenders in turn, round after round, so that what disturbs the machine disturbs all of them, and takes
 * each figure's median over the rounds. All are warm before the first one.
 */
export async function compare(
  contenders: readonly Contender[],
  loadOf: (contender: Contender) => Load,
  { rounds, warmUp, ...options }: Rounds,
): Promise<ReadonlyMap<string, Measured>> {
  const results = new Map<string, Measured[]>(contenders.map(({ name }) => [name, []]));
  for (const contender of contenders) await warm(contender, loadOf(contender), { ...options, warmUp });
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of contenders) {
      const measured = await measure(contender, loadOf(contender), options);
      results.get(contender.name)?.push(measured);
    }
  }
  return new Map([...results].map(([name, list]) => [name, median(list)]));
}

/**
 * Sends requests until V8 has compiled what they run, by their number and not for a time, so that slow contenders become
 * as warm as fast ones: the gateway takes three times as long for its first thousand requests as after twenty thousand.
 */
export async function warm(
  contender: Contender,
  { generator, request }: Load,
  { warmUp, ...options }: LoadOptions & Pick<Rounds, 'warmUp'>,
): Promise<void> {
  const workload = workloadOf(contender, request);
  let requests = 0;
  for (let seconds = 0; requests < warmUp && seconds < MAX_WARM_UP_SECONDS; seconds += options.seconds) {
    const outcome = await generator.run(workload, options);
    requests += outcome.requests;
  }
}

const workloadOf = ({ baseUrl, headers }: Contender, { path, body }: Request): Workload => ({
  url: baseUrl + path,
  headers: { ...headers, 'content-type': 'application/json' },
  body,
});

async function measure(
  contender: Contender,
  { generator, request }: Load,
  options: LoadOptions,
): Promise<Measured> {
  const workload = workloadOf(contender, request);
  const { outcome, timeUs } = await measureProcessorTime(contender.processes, () =>
    generator.run(workload, options),
  );
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
