/** `npm test`: all checks, the fastest first. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureRedisServer } from '@gateway/redis-server/ensure-redis-server';
import { type Counts, countTests } from './count-tests.ts';

const root = join(import.meta.dirname, '..');

interface Group {
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
}

const GROUPS: readonly Group[] = [
  { title: 'Format and lint', command: 'biome', args: ['check', '--error-on-warnings', '.'] },
  { title: 'Types', command: 'turbo', args: ['run', 'types', '--output-logs=errors-only'] },
  { title: 'Dead code', command: 'knip', args: [] },
  { title: 'Import direction', command: 'node', args: ['scripts/import-direction.ts'] },
];

let running: ChildProcess | undefined;
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => running?.kill(signal));

/** The command's exit code; what it prints is shown as it comes. */
function run(command: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    running = spawn(command, args, {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' },
    });
    running.on('error', (error) => {
      console.error(error.message);
      resolve(1);
    });
    running.on('close', (code) => resolve(code ?? 1));
  });
}

async function runTests(): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-check-'));
  try {
    const report = join(folder, 'report.json');
    const code = await run('vitest', [
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ]);
    return countTests(JSON.parse(await readFile(report, 'utf8').catch(() => '{}')), code);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function check(): Promise<Counts> {
  for (const { title, command, args } of GROUPS) {
    console.log(`\n── ${title} ──`);
    if ((await run(command, args)) === 0) continue;
    console.log(`\n${title}: failed (${[command, ...args].join(' ')}). The tests did not run.`);
    return { passed: 0, failed: 1 };
  }
  console.log('\n── Tests ──');
  await ensureRedisServer((line) => console.log(line));
  return runTests();
}

const { passed, failed } = await check().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  return { passed: 0, failed: 1 };
});
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
