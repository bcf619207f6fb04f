import { expect, test } from 'vitest';
import { z } from 'zod';
import { ProcessSettings, parseConfig, setting } from './config.ts';

const Settings = z.object({
  PORT: setting.port(8080),
  COUNT: setting.integer(5, { min: 1, max: 10 }),
  REDIS_URL: setting.redisUrl(),
  PUBLIC_URL: setting.url().optional(),
  SECRET: setting.secret(),
  ZONE: setting.timeZone(),
});
const GOOD = { REDIS_URL: 'redis://127.0.0.1', SECRET: 'a secret of more than thirty-two characters' };
const mistakes = (env: Record<string, string>): string[] => {
  try {
    parseConfig(Settings, env);
    return [];
  } catch (error) {
    return String(error instanceof Error ? error.message : error)
      .split('\n')
      .slice(1);
  }
};

test('what is absent or empty has its default, and so has a port that Kubernetes sets for a Service', () => {
  const SECRET = `${GOOD.SECRET}\r\n`;
  expect(
    parseConfig(Settings, { ...GOOD, SECRET, PORT: 'tcp://10.43.0.7:8081', COUNT: '\n', ZONE: '' }),
  ).toEqual({
    ...{ ...GOOD, PORT: 8080, COUNT: 5, ZONE: 'UTC' },
  });
});

test('a list of texts may be JSON, and one name of a directory is not taken apart', () => {
  const Lists = z.object({ GROUPS: setting.texts() });
  const read = (GROUPS: string) => parseConfig(Lists, { GROUPS }).GROUPS;
  const name = 'cn=gateway-admins,ou=groups,dc=example,dc=com';
  expect(read(` ["${name}", "staff"]\n`)).toEqual([name, 'staff']);
  expect(read('admins, cn=operators')).toEqual(['admins', 'cn=operators']);
  for (const wrong of [name, `staff, ${name}`, 'CN = a, OU = b', '[admins]', '["admins", 3]', '[""]'])
    expect(() => read(wrong)).toThrow(/GROUPS: must be texts separated by commas, or a JSON list/);
});

test('settings that are missing or wrong are all named', () => {
  expect(mistakes({ PORT: 'eighty', COUNT: '11', SECRET: 'short-secret' })).toEqual([
    '  PORT: must be a whole number',
    '  COUNT: must be between 1 and 10',
    '  REDIS_URL: is not set',
    '  SECRET: must have at least 32 characters',
  ]);
});

test.for([
  [{ PORT: '65536' }, '  PORT: must be between 0 and 65535'],
  [{ PORT: '-1' }, '  PORT: must be a whole number'],
  [
    { REDIS_URL: 'http://x' },
    '  REDIS_URL: must be a redis:// or rediss:// URL, or redis+sentinel:// or rediss+sentinel:// for sentinels',
  ],
  [
    { REDIS_URL: 'redis://pa#55word@redis:6379' },
    '  REDIS_URL: must have its password percent-encoded: "#" as %23, "/" as %2F, "?" as %3F, "%" as %25',
  ],
  [{ PUBLIC_URL: 'example.com' }, '  PUBLIC_URL: must be an http or https URL'],
  [{ ZONE: 'Mars/Olympus' }, '  ZONE: must be the name of a time zone, such as Europe/Berlin or UTC'],
  [{ SECRET: '' }, '  SECRET: is not set'],
] as const)('%j is one mistake, named without the value', ([env, expected]) => {
  expect(mistakes({ ...GOOD, ...env })).toEqual([expected]);
});

test.for([
  [{ LOG_LEVEL: 'loud' }, /LOG_LEVEL: Invalid option/],
  [{ LOG_FORMAT: 'xml' }, /LOG_FORMAT: Invalid option: expected one of "pretty"\|"json"/],
] as const)('%j is refused', ([env, expected]) => {
  expect(() => parseConfig(ProcessSettings, env)).toThrow(expected);
});
