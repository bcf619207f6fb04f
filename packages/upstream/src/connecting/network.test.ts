import { expect, test } from 'vitest';
import { environmentNetwork } from './network.ts';
import { readProxy } from './proxy.ts';

const PROXIES = { HTTPS_PROXY: 'http://secure:1', HTTP_PROXY: 'http://plain:2' };
const NO_PROXY = '.example.com, *.wild.org,exact.net:8443  10.0.0.0/8,[fd00::1]:443,fe80::/10,192.168.1.7';

test.for([
  [PROXIES, 'https://api.openai.com', 'http://secure:1'],
  [PROXIES, 'http://api.openai.com', 'http://plain:2'],
  [{ ALL_PROXY: 'all:3' }, 'https://api.openai.com', 'http://all:3'],
  [{ ...PROXIES, ALL_PROXY: 'all:3' }, 'https://api.openai.com', 'http://secure:1'],
  [{ https_proxy: 'http://lower:4', ...PROXIES }, 'https://api.openai.com', 'http://lower:4'],
  [{ HTTPS_PROXY: 'http://secure:1' }, 'http://api.openai.com', undefined],
  [{ HTTPS_PROXY: '', https_proxy: '' }, 'https://api.openai.com', undefined],
  [{}, 'https://api.openai.com', undefined],
  [PROXIES, 'http://localhost:8089', undefined],
  [PROXIES, 'http://127.0.0.7:1', undefined],
  [PROXIES, 'http://[::1]:1', undefined],
  [{ ...PROXIES, NO_PROXY: '*' }, 'https://api.openai.com', undefined],
  [{ ...PROXIES, NO_PROXY }, 'https://example.com', undefined],
  [{ ...PROXIES, NO_PROXY }, 'https://a.b.example.com', undefined],
  [{ ...PROXIES, NO_PROXY }, 'https://notexample.com', 'http://secure:1'],
  [{ ...PROXIES, NO_PROXY }, 'https://A.Wild.org.', undefined],
  [{ ...PROXIES, NO_PROXY }, 'https://exact.net', 'http://secure:1'],
  [{ ...PROXIES, NO_PROXY }, 'https://exact.net:8443', undefined],
  [{ ...PROXIES, NO_PROXY }, 'http://10.200.3.4:8000', undefined],
  [{ ...PROXIES, NO_PROXY }, 'http://11.200.3.4:8000', 'http://plain:2'],
  [{ ...PROXIES, NO_PROXY }, 'https://[fd00::1]', undefined],
  [{ ...PROXIES, NO_PROXY }, 'https://[fd00::1]:8443', 'http://secure:1'],
  [{ ...PROXIES, NO_PROXY }, 'https://[fe80::7]', undefined],
  [{ ...PROXIES, NO_PROXY }, 'https://192.168.1.7', undefined],
  [{ ...PROXIES, no_proxy: 'api.openai.com' }, 'https://api.openai.com', undefined],
] as const)('with %j, the proxy to %s is %s', ([env, origin, expected]) => {
  expect(environmentNetwork(env).proxyFor(new URL(origin))?.origin).toBe(expected);
});

test.for(['socks5://me:hush@proxy:1080', 'ftp://proxy', 'http://proxy/path', 'http://', 'http://%:x@proxy'])(
  'a variable with %s is a mistake that does not repeat it',
  (value) => {
    const read = () => environmentNetwork({ HTTPS_PROXY: value });
    expect(read).toThrow(/HTTPS_PROXY: found another value, expected a proxy as http/);
    expect(read).not.toThrow(/hush/);
  },
);

test('the credentials of a proxy are in no log', () => {
  const proxy = readProxy('http://me:p%40ss@proxy:3128');
  expect(proxy?.authorization).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`);
  expect(JSON.stringify(proxy)).toBe('{"origin":"http://proxy:3128"}');
});
