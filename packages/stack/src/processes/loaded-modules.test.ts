import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROCESSES } from './process-table.ts';

const root = join(import.meta.dirname, '../../../..');
const reporting = join(import.meta.dirname, '../../fixtures/report-fetch.ts');

/** The edge in a process of its own is excepted: http-proxy-middleware imports `node:http`. */
const entries = [...PROCESSES.each, ...PROCESSES.one]
  .filter(({ name }) => name !== 'simulator' && name !== 'edge')
  .map(({ entry }) => entry);

/** Starts an entry without settings, so that it loads all of its modules and ends with an error. */
const output = (entry: string): Promise<string> =>
  new Promise((resolve) => {
    const args = ['--import', reporting, join(root, entry)];
    execFile(process.execPath, args, { cwd: import.meta.dirname, env: {} }, (_error, out) => resolve(out));
  });

test.concurrent.each(entries)('%s does not load what only Node’s own fetch needs', async (entry) => {
  expect(await output(entry)).toMatch(/\nfetch not loaded\n$/);
});
