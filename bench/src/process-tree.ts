import { readdir, readFile } from 'node:fs/promises';
import type { WatchedProcess } from './processor-time.ts';

/** What a command line says of which process it is. The first pattern that fits names it. */
const NAMES: readonly (readonly [pattern: RegExp, name: (match: RegExpExecArray) => string])[] = [
  [/\bapps\/([\w-]+)\/src\/worker\.ts/, ([, app]) => `${app} worker`],
  [/\bapps\/([\w-]+)\/src\/[\w-]+\.ts/, ([, app]) => String(app)],
  [/\bpackages\/stack\//, () => 'starter'],
  [/\b(?:redis|valkey)-server\b/, () => 'redis'],
];

/** A process and everything that it started, directly or not, as of now. Linux only. */
export async function processTree(root: number): Promise<WatchedProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = new Map<number, number>();
  await Promise.all(
    pids.map(async (pid) => {
      const parent = await parentOf(pid).catch(() => null);
      if (parent !== null) parents.set(pid, parent);
    }),
  );
  const descends = (pid: number): boolean => {
    if (pid === root) return true;
    const parent = parents.get(pid);
    return parent !== undefined && parent !== 0 && descends(parent);
  };
  return Promise.all(
    [...parents.keys()].filter(descends).map(async (pid) => ({ pid, name: await nameOf(pid) })),
  );
}

async function parentOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The second field, the program's name, may hold spaces and brackets; the numbers begin after its last bracket.
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

async function nameOf(pid: number): Promise<string> {
  const line = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ');
  for (const [pattern, name] of NAMES) {
    const match = pattern.exec(line);
    if (match !== null) return name(match);
  }
  return 'other';
}
