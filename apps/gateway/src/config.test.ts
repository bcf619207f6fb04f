import { AdminConfig } from '@gateway/admin/config';
import { AudioSettings } from '@gateway/audio/config';
import { EdgeSettings } from '@gateway/edge/config';
import { ImageSettings } from '@gateway/image/config';
import { RetrievalSettings } from '@gateway/retrieval/config';
import { parseConfig } from '@gateway/service-kit/config';
import { TextSettings } from '@gateway/text/config';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { GatewayConfig } from './config.ts';

const REQUIRED = {
  REDIS_URL: 'redis://127.0.0.1:6379',
  GATEWAY_SECRET: 'a secret of more than thirty-two characters',
  GATEWAY_ADMIN_TOKEN: 'an admin token of more than 16 characters',
};
const PARTS: readonly z.ZodType<Record<string, unknown>>[] = [
  EdgeSettings,
  TextSettings,
  ImageSettings,
  AudioSettings,
  RetrievalSettings,
  AdminConfig,
];

test('a setting is the same for every part of the process, by default and where it is set', () => {
  for (const env of [REQUIRED, { ...REQUIRED, PORT: '8180', MAX_JSON_DEPTH: '64', USAGE_SUMS_DAYS: '7' }]) {
    const whole = parseConfig(GatewayConfig, env);
    for (const part of PARTS) expect(whole).toMatchObject(parseConfig(part, env));
  }
});

test('admin listens on this machine alone, on any address of the edge', () => {
  expect(parseConfig(GatewayConfig, { ...REQUIRED, HOST: '0.0.0.0' }).ADMIN_HOST).toBe('127.0.0.1');
});
