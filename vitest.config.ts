import { defineConfig } from 'vitest/config';

const unit = (folder: string) => ({
  extends: true as const,
  test: { name: folder.split('/')[1] ?? folder, root: folder, include: ['src/**/*.test.ts'] },
});

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 120_000,
    projects: [
      ...[
        'contracts',
        'service-kit',
        'upstream',
        'metering',
        'jobs',
        'forms',
        'model-service',
        'simulator',
        'testkit',
        'redis-server',
        'stack',
      ].map((name) => unit(`packages/${name}`)),
      ...['edge', 'text', 'image', 'audio', 'admin', 'gateway'].map((name) => unit(`apps/${name}`)),
      unit('bench'),
      { extends: true, test: { name: 'scripts', root: 'scripts', include: ['**/*.test.ts'] } },
      { extends: true, test: { name: 'stories', root: 'tests', include: ['**/*.test.ts'] } },
    ],
  },
});
