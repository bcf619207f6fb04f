import { expect, test } from 'vitest';
import { preloadsOf } from './page-preloads.ts';

const MANIFEST = JSON.stringify({
  'index.html': { file: 'assets/index.js', css: ['assets/index.css'], imports: ['_react.js'] },
  '_react.js': { file: 'assets/react.js' },
  '_table.js': { file: 'assets/table.js', imports: ['_react.js', '_table.js'] },
  'src/pages/keys/keys-page.tsx': {
    ...{ file: 'assets/keys.js', css: ['assets/keys.css'], imports: ['_table.js', 'index.html'] },
  },
  'src/pages/keys/key-page.tsx': { file: 'assets/key.js', imports: ['_react.js'] },
  'src/pages/overview/overview-page.tsx': { file: 'assets/overview.js' },
  'src/shell/sign-in-page.tsx': { file: 'assets/sign-in.js' },
});
const loaded = (path: string, basePath = ''): string[] =>
  [
    ...preloadsOf(MANIFEST, path, basePath).matchAll(
      /(?:modulepreload|stylesheet|fetch)" crossorigin href="([^"]+)"/g,
    ),
  ].map(([, href]) => href ?? '');

const SESSION = '/admin/v1/session';
const KEYS = ['/console/assets/keys.js', '/console/assets/keys.css', '/console/assets/table.js'];
test.for<[string, string[]]>([
  ['/', [SESSION, '/admin/v1/attention', '/console/assets/overview.js']],
  ['/keys', [SESSION, '/admin/v1/keys?limit=100', ...KEYS]],
  ['/keys/', [SESSION, '/admin/v1/keys?limit=100', ...KEYS]],
  // A page with a filter has another first call.
  ['/keys?team=search', [SESSION, ...KEYS]],
  ['/keys/key_1', [SESSION, '/console/assets/key.js']],
  ['/sign-in', ['/console/assets/sign-in.js']],
  ['/no-such-page', [SESSION]],
  ['/__proto__/constructor', [SESSION]],
  ['//', [SESSION, '/admin/v1/attention', '/console/assets/overview.js']],
])('what %s shows is loaded beside the first script, and nothing twice', ([path, wanted]) => {
  expect(loaded(path)).toEqual(wanted);
});

test('a proxy that has the console below a path is heeded, and nothing of the path that is asked for is written', () => {
  expect(loaded('/keys/x', '/gw')).toEqual(['/gw/admin/v1/session', '/gw/console/assets/key.js']);
  expect(preloadsOf(MANIFEST, '/keys/"><script>', '')).not.toContain('script>');
});
