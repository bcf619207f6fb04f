import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { COMPILE_CACHE } from '@gateway/testkit/compile-cache';
import { expect, test } from 'vitest';
import { PROCESSES } from './process-table.ts';

const root = join(import.meta.dirname, '../../../..');
const reporting = join(import.meta.dirname, '../../fixtures/report-modules.ts');

/** The edge in a process of its own is excepted: http-proxy-middleware imports `node:http`. */
const entries = [...PROCESSES.each, ...PROCESSES.one]
  .filter(({ name }) => name !== 'simulator' && name !== 'edge')
  .map(({ entry }) => entry);

/** The admin API alone is an Express app from its start. */
const WITH_EXPRESS: readonly string[] = ['apps/admin/src/main.ts', 'apps/gateway/src/main.ts'];

/** Starts an entry without settings, so that it loads all of its modules and ends with an error. */
const output = (entry: string): Promise<string> =>
  new Promise((resolve) => {
    const args = ['--import', reporting, join(root, entry)];
    execFile(process.execPath, args, { cwd: import.meta.dirname, env: COMPILE_CACHE }, (_error, out) =>
      resolve(out),
    );
  });

/**
 * Packages of what has to be configured: clouds, PostgreSQL, S3, an identity provider, traces, and a configuration file. prom-client loads
 * OpenTelemetry's API by itself.
 */
const OF_CONFIGURATION =
  /^(yaml|pg|openid-client|google-auth-library|@azure\/|@aws-sdk\/|@smithy\/|@opentelemetry\/(?!api$))/;

/** What asks hooks, and what writes the content log: loaded with the first request that one applies to. */
const OF_CHECKS_AND_CONTENT =
  /\/(?:hooks\/src\/(?:request-hooks|hook-client|hook-metrics|kinds\/)|call\/hooks\/(?:checked-call|hooked-reply|held-stream)|content-log\/(?:running-log|line-task|sweep-content|clean\/))/;

/** What calls providers of media through their own libraries: loaded with the first such call. */
const OF_LIBRARIES =
  /\/libraries\/(?:call-library|library-fetch|imagen|bedrock-images|speak|make-images)\.ts$/;

/** What describes the API: loaded with the first request for the description. */
const OF_DESCRIPTION = /\/endpoints\/openapi\.ts$/;

const loadedBy = async (entry: string): Promise<readonly string[]> =>
  /\nloaded: (.*)\n$/.exec(await output(entry))?.[1]?.split(' ') ?? [];

test('the starter loads neither a client for HTTP nor one for Redis', async () => {
  const loaded = await loadedBy('packages/stack/src/starter/run-starter.ts');
  expect(loaded).toContain('zod');
  expect(loaded.filter((name) => ['undici', 'fetch', 'ioredis', 'express', 'yaml'].includes(name))).toEqual(
    [],
  );
});

test.each(entries)(
  '%s loads neither what only Node’s own fetch needs nor anything of what is not configured',
  async (entry) => {
    const loaded = await loadedBy(entry);
    expect(loaded).toContain('zod');
    expect(loaded).toContainEqual(expect.stringMatching(/^(?:packages|apps)\/.*\.ts$/));
    expect(
      loaded.filter(
        (name) =>
          name === 'fetch' ||
          [OF_CONFIGURATION, OF_CHECKS_AND_CONTENT, OF_LIBRARIES, OF_DESCRIPTION].some((pattern) =>
            pattern.test(name),
          ),
      ),
    ).toEqual([]);
    expect(loaded.includes('express')).toBe(WITH_EXPRESS.includes(entry));
  },
);
