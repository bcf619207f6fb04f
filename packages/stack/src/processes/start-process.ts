import { join } from 'node:path';
import type { Environment } from '@gateway/contracts/environment';
import { localUrl } from './addresses.ts';
import { BUSY_NODE_OPTIONS, type ProcessRow } from './process-table.ts';
import { type RunningChild, startChild } from './start-child.ts';
import { type Restarts, type Running, type Supervised, supervise } from './supervise.ts';

export interface StackProcess {
  /** The table's name; the second replica is `text-2`, and so on. */
  readonly name: string;
  /** The parts that it runs, by the names that they have as separate processes. */
  readonly parts: readonly string[];
  /** The variable by which others find it. */
  readonly urlVariable: string | null;
  /** Where the process listens that runs now, or ran last; a worker listens on another port each time. Null if it does not listen. */
  readonly url: string | null;
  /** The id of the process that runs now, or ran last. */
  readonly pid: number;
  /** It is started again after that, unless the stack was started without restarts. */
  kill(signal: NodeJS.Signals): void;
  /** Resolves with how the process that runs now ended. */
  readonly ended: Promise<string>;
}

export interface ProcessOptions {
  readonly row: ProcessRow;
  /** From 0. */
  readonly replica: number;
  /** The port to listen on; 0: any. */
  readonly port: number;
  /** Its environment without its port. */
  readonly env: Environment;
  /** The folder that entries are named from. */
  readonly root: string;
  readonly workingFolder: string;
  readonly signal: AbortSignal;
  readonly restarts: Restarts;
  readonly report: (line: string) => void;
  readonly onLines: (process: string, lines: readonly string[]) => void;
}

/** Starts one row of the table and keeps it running, on the port that it got first. */
export async function startProcess(
  options: ProcessOptions,
): Promise<{ process: StackProcess; supervised: Supervised<RunningChild> }> {
  const { row, replica, signal, restarts, report } = options;
  const name = replica === 0 ? row.name : `${row.name}-${replica + 1}`;
  const start = (startSignal: AbortSignal, previous: RunningChild | null): Promise<RunningChild> => {
    const port = previous?.port ?? options.port;
    return startChild(
      {
        name,
        entry: join(options.root, row.entry),
        env: row.port ? { ...options.env, [row.port.variable]: String(port) } : options.env,
        nodeOptions: row.isBusy ? BUSY_NODE_OPTIONS : [],
        workingFolder: options.workingFolder,
        onLines: (lines) => options.onLines(name, lines),
      },
      startSignal,
    );
  };
  const supervised = await supervise({ name, start, signal, restarts, report });
  const known = { name, parts: row.parts ?? [], urlVariable: row.urlVariable };
  return { process: processOf(known, supervised, () => supervised.current().port), supervised };
}

/** The process that runs now, or ran last. */
export const processOf = (
  known: Pick<StackProcess, 'name' | 'parts' | 'urlVariable'>,
  { current }: Pick<Supervised<Running>, 'current'>,
  portOf: () => number | null,
): StackProcess => ({
  ...known,
  get url() {
    const port = portOf();
    return port === null ? null : localUrl(port);
  },
  kill: (kind) => current().kill(kind),
  get pid() {
    return current().pid;
  },
  get ended() {
    return current().ended;
  },
});
