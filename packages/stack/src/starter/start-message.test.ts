import { environmentConfiguration } from '@gateway/upstream/configuration/environment-configuration';
import { expect, test } from 'vitest';
import type { Stack } from '../start-stack.ts';
import { startMessage } from './start-message.ts';

const KEY = 'gwb_the-key';
const TOKEN = 'gwa_the-token';
const stack: Stack = {
  edgeUrl: 'http://127.0.0.1:8080',
  edgeMetricsUrl: 'http://127.0.0.1:8084',
  adminUrl: 'http://127.0.0.1:8090',
  key: KEY,
  adminToken: TOKEN,
  redisUrl: 'redis://127.0.0.1:6379',
  configuration: environmentConfiguration({}),
  processes: [],
  process: () => {
    throw new Error('there is none');
  },
  stop: async () => undefined,
  end: async () => undefined,
};
const facts = {
  stack,
  redisAddress: '127.0.0.1:6379',
  configurationPath: '/gateway/gateway.yaml',
  dataDir: '/data',
  examples: '/examples',
};

test('a terminal shows the key and the admin token', () => {
  const shown = startMessage({ ...facts, sources: null });
  expect(shown).toContain(KEY);
  expect(shown).toContain(TOKEN);
  expect(shown).toContain('Docs         http://127.0.0.1:8090/docs/\n');
});

test('output that is no terminal has neither, but where they are', () => {
  const written = startMessage({
    ...facts,
    sources: {
      key: { file: '/data/secrets/bootstrap-key' },
      adminToken: { variable: 'GATEWAY_ADMIN_TOKEN' },
    },
  });
  expect(written).not.toContain(KEY);
  expect(written).not.toContain(TOKEN);
  expect(written).toContain(`"Authorization: Bearer $(cat '/data/secrets/bootstrap-key')"`);
  expect(written).toContain('Admin token  the value of GATEWAY_ADMIN_TOKEN');
});
