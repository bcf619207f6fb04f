import { JOB_WAIT_LIMIT_MS } from '@gateway/contracts/time-limits';
import { makeSecret } from '@gateway/metering/keys/key-secret';
import { parseConfig } from '@gateway/service-kit/config';
import { expect, test } from 'vitest';
import { EdgeConfig } from './config.ts';

const NEEDED = {
  REDIS_URL: 'redis://127.0.0.1:6379',
  GATEWAY_SECRET: 'a secret of more than thirty-two characters',
};
const withKey = (key: string) => parseConfig(EdgeConfig, { ...NEEDED, GATEWAY_BOOTSTRAP_KEY: key });

test('a bootstrap key is any string of 24 characters, or a key that the gateway has made', () => {
  for (const key of ['x'.repeat(24), 'sk-a-key-of-our-own-making', makeSecret()])
    expect(withKey(key).GATEWAY_BOOTSTRAP_KEY).toBe(key);
});

test('a bootstrap key that no request can use is refused at the start', () => {
  expect(() => withKey('x'.repeat(23))).toThrow('GATEWAY_BOOTSTRAP_KEY: must be 24 to 256');
  expect(() => withKey(`gwk_${'x'.repeat(40)}`)).toThrow('GATEWAY_BOOTSTRAP_KEY: must not begin with gwk_');
});

test('the edge waits longer for a service than a service waits for a job', () => {
  expect(parseConfig(EdgeConfig, NEEDED).EDGE_SERVICE_TIMEOUT_MS).toBeGreaterThan(JOB_WAIT_LIMIT_MS);
});
