import { readFile } from 'node:fs/promises';

/**
 * Distinguishes a process from a later one with the same id by its start, in clock ticks since the machine's start.
 * Empty where the system does not report it (no /proc) or there is no such process.
 * @see man 5 proc_pid_stat, field 22; the second field may hold spaces and parentheses
 */
export async function startTimeOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
