import { readFile } from 'node:fs/promises';

/** Linux counts processor time in hundredths of a second (`getconf CLK_TCK`, 100 on every common platform). */
const MICROSECONDS_PER_TICK = 10_000;

/** User and system time of a process and all its threads so far, in microseconds, from `/proc/PID/stat`. */
export async function processorTimeUs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The second field, the program's name, may hold spaces and brackets; the numbers begin behind its last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const userTicks = Number(fields[11]);
  const systemTicks = Number(fields[12]);
  return (userTicks + systemTicks) * MICROSECONDS_PER_TICK;
}

/** Resident memory of a process, in bytes, from `/proc/PID/status`. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

export interface WatchedProcess {
  readonly name: string;
  readonly pid: number;
}

/** Runs something and tells how much processor time each process took meanwhile, in microseconds by name. */
export async function measureProcessorTime<Outcome>(
  processes: readonly WatchedProcess[],
  run: () => Promise<Outcome>,
): Promise<{ outcome: Outcome; timeUs: ReadonlyMap<string, number> }> {
  const read = () => Promise.all(processes.map(({ pid }) => processorTimeUs(pid)));
  const before = await read();
  const outcome = await run();
  const after = await read();
  const timeUs = new Map<string, number>();
  processes.forEach(({ name }, index) => {
    timeUs.set(name, (timeUs.get(name) ?? 0) + (after[index] ?? 0) - (before[index] ?? 0));
  });
  return { outcome, timeUs };
}
