import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterAll, expect, test } from 'vitest';
import { openRedisSecrets, problemOf } from './redis-secrets.ts';
import { NO_REDIS_FILES, parseRedisUrl, redisUrlOf, shownPlace } from './redis-url.ts';

const folder = await temporaryFolder();
afterAll(() => folder.close());
const notPem = join(folder.path, 'not.pem');
const empty = join(folder.path, 'empty');
await Promise.all([writeFile(notPem, 'hello'), writeFile(empty, '\n')]);

test.for([
  ['redis://redis', 'redis:6379', { db: 0, login: {}, tls: null }],
  [
    'redis://user:p%40ss@10.0.0.5:6380/2',
    '10.0.0.5:6380',
    { db: 2, login: { username: 'user', password: 'p@ss' } },
  ],
  ['rediss://:pass@[2001:db8::1]', '[2001:db8::1]:6379', { login: { password: 'pass' }, tls: {} }],
  ['REDISS://redis/?family=6&serverName=cache', 'redis:6379', { family: 6, tls: { serverName: 'cache' } }],
  ['rediss://redis?caFile=%2Fca.pem', 'redis:6379', { tls: { caFile: '/ca.pem' } }],
  [
    'redis+sentinel://user:pass@one,two:26380,[::1]/main/3?sentinelUser=watch&sentinelPassword=p%26',
    'one:26379,two:26380,[::1]:26379/main',
    {
      masterName: 'main',
      db: 3,
      login: { username: 'user', password: 'pass' },
      sentinelLogin: { username: 'watch', password: 'p&' },
      tls: null,
      sentinelTls: null,
    },
  ],
  ['rediss+sentinel://s/main', 's:26379/main', { tls: {}, sentinelTls: {} }],
  ['rediss+sentinel://s/main?sentinelTls=false', 's:26379/main', { tls: {}, sentinelTls: null }],
] as const)('%s is understood', ([url, shown, expected]) => {
  const place = parseRedisUrl(url);
  expect(place).toMatchObject(expected);
  expect(shownPlace(place)).toBe(shown);
});

const PASSWORD = 'hush-hush';
test.for([
  ['http://redis', /must be a redis:\/\/ or rediss:\/\/ URL/],
  [`redis://:${PASSWORD}`, /must name a host/],
  [`redis://:${PASSWORD}#1@redis`, /percent-encoded/],
  [`redis://:${PASSWORD}/1@redis`, /percent-encoded/],
  [`redis://:${PASSWORD}?1@redis`, /percent-encoded/],
  [`redis://:${PASSWORD}%@redis`, /percent-encoded/],
  [`redis://:${PASSWORD}@redis:99999`, /must name a host/],
  [`redis://:${PASSWORD}@redis/main`, /number of a database/],
  [`redis://:${PASSWORD}@one,two`, /several hosts: for sentinels, write redis\+sentinel:/],
  ['redis+sentinel://one,two', /must name the master/],
  ['redis+sentinel://one/main/x', /number of a database/],
  ['redis+cluster://one', /Redis Cluster, which is not supported/],
  [`redis://redis?${PASSWORD}=1`, /unknown parameter/],
  ['redis://redis?family=5', /family/],
  ['redis://redis?caFile=/ca.pem', /has REDIS_CA_FILE for TLS, but is not over TLS: write rediss:\/\//],
  ['rediss://redis?certFile=/c.pem', /REDIS_CERT_FILE and REDIS_KEY_FILE together/],
  ['redis://redis?sentinelPassword=x', /names no sentinels/],
  ['redis+sentinel://one/main?sentinelTls=maybe', /sentinelTls/],
  [`redis://:${PASSWORD}@redis?passwordFile=/p`, /REDIS_PASSWORD_FILE names another one/],
  ['redis://user@redis', /a user without a password/],
  ['redis://redis?passwordFile=/nowhere/p', /REDIS_PASSWORD_FILE that cannot be read \(ENOENT/],
  [`redis://redis?passwordFile=${empty}`, /empty file in REDIS_PASSWORD_FILE/],
  ['rediss://redis?caFile=/nowhere/ca', /REDIS_CA_FILE that cannot be read \(ENOENT/],
  [`rediss://redis?caFile=${notPem}`, /without a certificate in PEM form/],
  [`rediss://redis?certFile=${notPem}&keyFile=${notPem}`, /cannot be used for TLS \(.*PEM/],
] as const)('%s is refused with a sentence that shows no password', ([url, problem]) => {
  const found = problemOf(() => openRedisSecrets(parseRedisUrl(url)));
  expect(found).toMatch(problem);
  expect(found).not.toContain(PASSWORD);
});

test('the files of the variables are parameters of the URL', () => {
  const env = { REDIS_URL: 'rediss://redis/1', REDIS_CA_FILE: '/a b/ca.pem', REDIS_PASSWORD_FILE: '/p' };
  const url = redisUrlOf(env) ?? '';
  expect(parseRedisUrl(url)).toMatchObject({
    db: 1,
    login: { passwordFile: '/p' },
    tls: { caFile: '/a b/ca.pem' },
  });
  expect(redisUrlOf({ ...env, REDIS_URL: '' })).toBeUndefined();
  const withDefault = { ...NO_REDIS_FILES, REDIS_DEFAULT_URL: 'redis://other' };
  expect(redisUrlOf({ ...withDefault, REDIS_URL: '' })).toBe('redis://other');
  expect(redisUrlOf({ ...withDefault, REDIS_URL: 'redis://own' })).toBe('redis://own');
  expect(redisUrlOf({ ...env, ...NO_REDIS_FILES })).toBe('rediss://redis/1');
  expect(problemOf(() => parseRedisUrl(redisUrlOf({ ...env, REDIS_URL: `${url}` }) ?? ''))).toMatch(
    /has caFile twice/,
  );
});
