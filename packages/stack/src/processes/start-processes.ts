import type { Environment } from '@gateway/contracts/environment';
import { type ProcessRow, SECRET_VARIABLES, type Stage } from './process-table.ts';
import type { RunningChild } from './start-child.ts';
import { type ProcessOptions, type StackProcess, startProcess } from './start-process.ts';
import type { Supervised } from './supervise.ts';

interface ProcessesOptions extends Omit<ProcessOptions, 'row' | 'replica' | 'port'> {
  readonly rows: readonly ProcessRow[];
  readonly replicas: Readonly<Record<string, number | undefined>>;
  /** The port of a row's first replica, by the variable of its port; 0: any. */
  readonly ports: Readonly<Record<string, number>>;
  /** Called for each process as soon as it runs. */
  readonly onStarted: (row: ProcessRow, supervised: Supervised<RunningChild>) => void;
}

/**
 * Starts the rows together, but for edges: they get the addresses of the services, which run then.
 * @throws the first StartError; those that were starting have ended then, the caller stops those that run
 */
export async function startProcesses(options: ProcessesOptions): Promise<StackProcess[]> {
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  let firstError: unknown;
  const start = (stage: Stage, env: Environment): Promise<StackProcess>[] =>
    options.rows
      .filter((row) => row.stage === stage)
      .flatMap((row) =>
        Array.from({ length: options.replicas[row.name] ?? 1 }, (_, replica) => ({ row, replica })),
      )
      .map(async ({ row, replica }) => {
        const port = replica === 0 && row.port ? (options.ports[row.port.variable] ?? 0) : 0;
        const ownEnv = replica === 0 ? envFor(row, env) : { ...envFor(row, env), ...freePorts(row) };
        try {
          const started = await startProcess({ ...options, row, replica, port, signal, env: ownEnv });
          options.onStarted(row, started.supervised);
          return started.process;
        } catch (error) {
          firstError ??= error;
          failed.abort();
          throw error;
        }
      });
  // Settled from the beginning, so that a failure is never one that nobody handles.
  const upstream = Promise.allSettled(start('upstream', options.env));
  const services = await Promise.allSettled(start('service', options.env));
  const addresses = addressesOf(fulfilled(services));
  const edges = failed.signal.aborted ? [] : start('edge', { ...options.env, ...addresses });
  const outcomes = [...services, ...(await Promise.allSettled(edges)), ...(await upstream)];
  if (failed.signal.aborted) throw firstError;
  return fulfilled(outcomes);
}

const fulfilled = (outcomes: readonly PromiseSettledResult<StackProcess>[]): StackProcess[] =>
  outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));

/** Several replicas of one service are several addresses, separated by commas. */
function addressesOf(processes: readonly StackProcess[]): Record<string, string> {
  const urls: Record<string, string> = {};
  for (const { urlVariable, url } of processes) {
    if (urlVariable === null || url === null) continue;
    const before = urls[urlVariable];
    urls[urlVariable] = before === undefined ? url : `${before},${url}`;
  }
  return urls;
}

const freePorts = ({ furtherPorts = [] }: ProcessRow): Environment =>
  Object.fromEntries(furtherPorts.map(({ variable }) => [variable, '0']));

/**
 * The space for young objects. A large one saves processor time where requests pass: measured, a small one takes 284 µs
 * over edge and text, against 319 µs with 8 MB, and 1,000 streams at once 245 MB of memory, against 261 MB. Elsewhere it
 * only keeps what loading has left: a worker that waits has 35 MB less with a small one.
 */
const BUSY_MB = 32;
const QUIET_MB = 4;

/**
 * For glibc: a process has two heaps at most, and returns what it frees to the system. Measured, a quiet process has 3 to 5 MB
 * less, and text, where V8 compiles more, has 12. A busy process keeps a megabyte, and takes bodies of up to 4 MB from its heaps:
 * it would get the memory of each large body from the system again.
 */
const QUIET_MALLOC = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: String(128 * 1024) };
const BUSY_MALLOC = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: String(1024 * 1024),
  MALLOC_MMAP_THRESHOLD_: String(4 * 1024 * 1024),
};

/** Only the edge accepts connections from other machines. */
function envFor({ stage, secrets, isInternal, isBusy = false }: ProcessRow, env: Environment): Environment {
  const granted: readonly string[] = secrets;
  const withheld = SECRET_VARIABLES.filter((secret) => !granted.includes(secret));
  return {
    ...(isBusy ? BUSY_MALLOC : QUIET_MALLOC),
    ...Object.fromEntries(
      Object.entries(env).filter(([name]) => !withheld.some((secret) => secret === name)),
    ),
    NODE_OPTIONS: env.NODE_OPTIONS || `--max-semi-space-size=${isBusy ? BUSY_MB : QUIET_MB}`,
    ...(stage === 'edge' && !isInternal ? {} : { HOST: '127.0.0.1' }),
  };
}
