import { z } from 'zod';

/** What the build says of a module: its file, the stylesheets that come with it, the modules that it imports at once. */
const Manifest = z.record(
  z.string(),
  z.looseObject({
    file: z.string(),
    css: z.array(z.string()).default([]),
    imports: z.array(z.string()).default([]),
  }),
);
type Manifest = z.infer<typeof Manifest>;

const ENTRY = 'index.html';
/** A module of a page, by its folder, which is also the first part of the page's path. */
const PAGE_MODULE = /^src\/pages\/([\w-]+)\/([\w-]+)-page\.tsx$/;
const SHELL_MODULE = /^src\/shell\/([\w-]+)-page\.tsx$/;
/** Where most people land. */
const FIRST = 'overview';

/**
 * What pages ask for first where their address has no filter, letter by letter: a browser takes the answer to the same address alone.
 * Those of a time zone, or of this moment, cannot be known here. apps/console/browser/slow-line.test.ts fails where one differs.
 */
const FIRST_CALLS = new Map([
  ['overview', 'attention'],
  ['requests', 'requests?limit=100'],
  ['keys', 'keys?limit=100'],
  ['teams', 'teams?limit=200'],
  ['people', 'people?limit=100'],
  ['roles', 'roles'],
  ['channels', 'channels'],
  ['models', 'models'],
  ['webhooks', 'webhooks?limit=100'],
  ['configuration', 'configuration'],
  ['alerts', 'alerts'],
  ['sessions', 'sessions'],
]);

/**
 * Elements for the head of the page: the files of what this address shows, who is signed in, and its first call are loaded beside the
 * first script, not after it has run.
 *
 * @param manifest the text of the build's `manifest.json`
 * @param address below `/console`, with its query
 * @param basePath the path below which browsers see this service
 */
export function preloadsOf(manifest: string, address: string, basePath: string): string {
  const modules = Manifest.parse(JSON.parse(manifest));
  // Written out, because `//` at the beginning would be read as that of a host.
  const { pathname, search } = new URL(`http://console${address}`);
  const [area = FIRST, id] = pathname.split('/').filter((part) => part !== '');
  const names = Object.keys(modules);
  const isOfShell = names.some((name) => SHELL_MODULE.exec(name)?.[1] === area);
  const firstCall = id === undefined && search === '' ? FIRST_CALLS.get(area) : undefined;
  const calls = isOfShell ? [] : ['session', ...(firstCall === undefined ? [] : [firstCall])];
  const module = names.find((name) => isModuleOf(name, area, id !== undefined));
  const known = filesOf(modules, ENTRY);
  const files = module === undefined ? [] : [...filesOf(modules, module)].filter((file) => !known.has(file));
  return [
    ...calls.map((call) => `<link rel="preload" as="fetch" crossorigin href="${basePath}/admin/v1/${call}">`),
    ...files.map((file) =>
      file.endsWith('.css')
        ? `<link rel="stylesheet" crossorigin href="${basePath}/console/${file}">`
        : `<link rel="modulepreload" crossorigin href="${basePath}/console/${file}">`,
    ),
  ].join('');
}

function isModuleOf(name: string, area: string, isOne: boolean): boolean {
  if (SHELL_MODULE.exec(name)?.[1] === area) return true;
  const [, folder, page] = PAGE_MODULE.exec(name) ?? [];
  // Beside the page of a list there is that of one of its things.
  return folder === area && (page === area) !== isOne;
}

function filesOf(modules: Manifest, name: string, files = new Set<string>()): ReadonlySet<string> {
  const module = modules[name];
  if (module === undefined || files.has(module.file)) return files;
  for (const file of [module.file, ...module.css]) files.add(file);
  for (const one of module.imports) filesOf(modules, one, files);
  return files;
}
