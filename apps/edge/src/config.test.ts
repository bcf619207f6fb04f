import { JOB_WAIT_LIMIT_MS } from '@gateway/contracts/time-limits';
import { parseConfig } from '@gateway/service-kit/config';
import { expect, test } from 'vitest';
import { EdgeConfig } from './config.ts';

const NEEDED = {
  REDIS_URL: 'redis://127.0.0.1:6379',
  GATEWAY_SECRET: 'a secret of more than thirty-two characters',
};

test('the edge waits longer for a service than a service waits for a job', () => {
  expect(parseConfig(EdgeConfig, NEEDED).EDGE_SERVICE_TIMEOUT_MS).toBeGreaterThan(JOB_WAIT_LIMIT_MS);
});
