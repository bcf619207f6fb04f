import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { COMPILE_CACHE } from './packages/stack/src/compile-cache.ts';

/** Their files take the longest: they begin, and small tests keep every core busy to the end. */
const FIRST = ['stories', 'console'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isOf = (name: string) => sorted.filter(({ project }) => project.name === name);
    return [...FIRST.flatMap(isOf), ...sorted.filter(({ project }) => !FIRST.includes(project.name))];
  }
}

const unit = (folder: string) => ({
  extends: true as const,
  test: {
    name: folder.split('/')[1] ?? folder,
    root: folder,
    include: ['src/**/*.test.ts'],
  },
});

/** With a PostgreSQL that the project's files share. */
const withPostgres = (project: ReturnType<typeof unit>) => ({
  ...project,
  test: {
    ...project.test,
    globalSetup: join(import.meta.dirname, 'packages/testkit/src/shared-postgres.ts'),
  },
});

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Vitest's default leaves one core to itself, which is half of a small machine.
    maxWorkers: '100%',
    // A process serves many files: nothing of ours keeps state in a module, and a process for each file takes a third of the time.
    isolate: false,
    // Also for the processes that tests start with no environment of their own.
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE },
    provide: {
      isLongRun: process.env.TEST_LONG === '1',
      compileCache: COMPILE_CACHE,
      chromiumPath: process.env.CHROMIUM_PATH,
    },
    sequence: { sequencer: LongestFirst },
    projects: [
      ...[
        'contracts',
        'service-kit',
        'upstream',
        'metering',
        'redis',
        'assets',
        'jobs',
        'forms',
        'hooks',
        'model-service',
        'simulator',
        'testkit',
        'redis-server',
        'stack',
      ].map((name) => unit(`packages/${name}`)),
      ...['edge', 'text', 'image', 'audio', 'retrieval', 'gateway', 'docs'].map((name) =>
        unit(`apps/${name}`),
      ),
      ...['packages/records', 'apps/admin'].map((folder) => withPostgres(unit(folder))),
      unit('bench'),
      {
        extends: true,
        test: {
          name: 'console',
          root: 'apps/console',
          include: ['browser/**/*.test.ts'],
          globalSetup: join(import.meta.dirname, 'apps/console/browser/build-once.ts'),
        },
      },
      { extends: true, test: { name: 'scripts', root: 'scripts', include: ['**/*.test.ts'] } },
      { extends: true, test: { name: 'stories', root: 'tests', include: ['**/*.test.ts'] } },
    ],
  },
});
