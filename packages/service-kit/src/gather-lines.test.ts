import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { gatherLines } from './gather-lines.ts';

const line = (number: number) => `line ${number}: ${'ü'.repeat(40)}\n`;

async function gathering(count: number) {
  const folder = await mkdtemp(join(tmpdir(), 'lines-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'log');
  const lines = gatherLines(path);
  for (let number = 0; number < count; number++) lines.write(line(number));
  return { lines, written: () => readFile(path, 'utf8') };
}

const first = (count: number) => Array.from({ length: count }, (_, number) => line(number)).join('');

test('a single line is written by itself', async () => {
  const { written } = await gathering(1);
  await expect.poll(written, { timeout: 20_000 }).toBe(line(0));
});

test('many batches are written whole and in order', async () => {
  const { lines, written } = await gathering(5_000);
  await new Promise<void>((resolve) => lines.flush(() => resolve()));
  await expect.poll(written, { timeout: 20_000 }).toBe(first(5_000));
});

/** A process that writes lines by `lines`, then does `end`. Resolves with what it has written. */
async function outputOf(end: string): Promise<string> {
  const module = new URL('./gather-lines.ts', import.meta.url).href;
  const code = `import { gatherLines } from '${module}'; const lines = gatherLines(1); lines.write('one\\n'); lines.write('two\\n'); ${end}`;
  const ended = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code]);
  return (await ended.catch((error: { stdout: string }) => error)).stdout;
}

test.for([
  ['exits', 'process.exit(1);'],
  ['ends by itself', ''],
  ['fails', "throw new Error('a failure');"],
  ['asks for them and is killed', "lines.flushSync(); process.kill(process.pid, 'SIGKILL');"],
] as const)('the last lines of a process that %s are written', async ([, end]) => {
  expect(await outputOf(end)).toBe('one\ntwo\n');
});
