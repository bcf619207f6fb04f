import { expect, test } from 'vitest';
import { consoleAddress, withoutBasePath } from './console-address.ts';

test.for([
  [undefined, ''],
  ['https://ops.example.com', ''],
  ['https://ops.example.com/', ''],
  ['https://ops.example.com/console/', ''],
  ['https://ops.example.com/gw', '/gw'],
  ['https://ops.example.com/a/b/', '/a/b'],
  ['https://ops.example.com/gw/console', '/gw'],
])('below the address %s the path is %j', ([url, basePath]) => {
  expect(consoleAddress(url).basePath).toBe(basePath);
});

test.for(['https://x.example/a"b', 'https://x.example/a;b', 'https://x.example//evil'])(
  'the path of %s is refused',
  (url) => {
    expect(() => consoleAddress(url)).toThrow(/CONSOLE_URL/);
  },
);

test.for<[string, string]>([
  ['/gw/console/keys?a=1', '/console/keys?a=1'],
  ['/console/keys', '/console/keys'],
  ['/gw', '/'],
  ['/gw?a=1', '/?a=1'],
  ['/gw/', '/'],
  ['/gwen/console/', '/gwen/console/'],
])('%s is %s, whether the proxy takes the path off or not', ([url, wanted]) => {
  expect(withoutBasePath(url, '/gw')).toBe(wanted);
  expect(withoutBasePath(url, '')).toBe(url);
});
